// Formulas are typeset where a page has any; MathJax lies beside this script.
if (document.querySelector(".arithmatex")) {
    window.MathJax = {
        CommonHTML: { linebreaks: { automatic: false } },
        messageStyle: "none",
        showMathMenu: false,
    };
    const script = document.createElement("script");
    script.src = new URL("mathjax/MathJax.js?config=TeX-AMS_CHTML", document.currentScript.src).href;
    document.head.append(script);
}
