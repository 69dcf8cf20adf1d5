// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Words of <QObject>.
#define signals public
#define slots
#define emit
#define foreach(variable, container) for (variable : container)
#define forever for (;;)
#define Q_SIGNALS public
#define Q_SLOTS
#define Q_EMIT
