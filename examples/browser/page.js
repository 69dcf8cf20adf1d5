// Draws what the module of WebAssembly computes. `packedModule` is that module, packed by gzip, in base64.
"use strict";

const find = id => document.getElementById(id);

/** What the module says is wrong with a call. */
class Refused extends Error {}

/** The module's functions, with the numbers at the addresses that they return. */
class Calls {
    static async load() {
        const packed = Uint8Array.from(atob(packedModule), letter => letter.charCodeAt(0));
        const unpacked = new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip"));
        return new Calls(await WebAssembly.compile(await new Response(unpacked).arrayBuffer()));
    }

    constructor(module) {
        this.module = module;
        this.start();
    }

    /** A new instance: a call that is refused leaves its memory as it was then. */
    start() {
        const none = () => 8; // EBADF: there are no files
        const imports = {
            page: { refuse: sentence => { throw new Refused(this.text(sentence)); } },
            wasi_snapshot_preview1: { fd_close: none, fd_seek: none, fd_write: none },
        };
        this.exports = new WebAssembly.Instance(this.module, imports).exports;
        this.exports._initialize();
    }

    text(address) {
        const bytes = new Uint8Array(this.exports.memory.buffer, address);
        return new TextDecoder().decode(bytes.subarray(0, bytes.indexOf(0)));
    }

    numbers(type, count, name, ...values) {
        try {
            const address = this.exports[name](...values); // before the memory is looked at: the call may make it larger
            return new type(this.exports.memory.buffer, address, count).slice();
        } catch (error) {
            this.start();
            throw error;
        }
    }
}

/** Shows what a call is refused for, above the picture before it, which is dimmed. */
function orRefused(place, draw) {
    try {
        draw();
        place.textContent = "";
    } catch (error) {
        if (!(error instanceof Refused)) throw error;
        place.textContent = error.message;
    }
}

function add(parent, name, attributes, text = "") {
    const element = document.createElementNS(parent.namespaceURI, name);
    for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
    element.textContent = text;
    return parent.appendChild(element);
}

/** An element that shows a weight, which can be read there in full. */
function addWeight(parent, name, from, to, weight, attributes, text) {
    return add(parent, name, { "data-from": from, "data-to": to, "data-weight": weight, ...attributes }, text);
}

const between = (a, b, share) => a + (b - a) * share;
const asText = weight => weight.toFixed(3);

/** A square of the map: its shade is the root of the weight, so that small ones show. */
function addSquare(parent, row, column, weight, isSeen) {
    const place = { x: column, y: row, width: 1, height: 1 };
    if (isSeen) add(parent, "rect", { class: "seen", ...place });
    addWeight(parent, "rect", row, column, weight, { class: "weight", "fill-opacity": Math.sqrt(weight), ...place });
}

class Club {
    constructor(calls) {
        this.calls = calls;
        this.heads = calls.exports.heads();
        this.members = calls.exports.members();
        const ends = calls.numbers(Int32Array, 2 * calls.exports.friendship_count(), "friendships");
        this.friendships = Array.from({ length: ends.length / 2 }, (_, i) => [ends[2 * i], ends[2 * i + 1]]);
        for (let i = 0; i < this.members; ++i) add(find("member"), "option", { value: i }, i + 1);
        for (let i = 0; i < this.heads; ++i) add(find("head"), "option", { value: i }, i + 1);
        for (const id of ["member", "head", "temperature"]) find(id).addEventListener("input", () => this.show());
        this.isNarrow = matchMedia("(max-width: 44em)");
        this.isNarrow.addEventListener("change", () => this.place());
        this.place();
    }

    /** Where the members are drawn depends on the width of the window. */
    place() {
        const margin = 50, [width, height] = this.isNarrow.matches ? [640, 860] : [1000, 700];
        find("club").setAttribute("viewBox", `0 0 ${width} ${height}`);
        const places = this.calls.numbers(Float32Array, 2 * this.members, "places", width - 2 * margin, height - 2 * margin);
        const xs = places.filter((_, i) => i % 2 === 0), ys = places.filter((_, i) => i % 2 === 1);
        const fit = (values, size) => {
            const least = Math.min(...values), most = Math.max(...values);
            return Array.from(values, value => margin + (value - least) / (most - least) * (size - 2 * margin));
        };
        this.x = fit(xs, width);
        this.y = fit(ys, height);
        this.show();
    }

    /** The weights of a head, or the mean of all heads. */
    weights(temperature, head) {
        const pairs = this.members * this.members;
        const all = this.calls.numbers(Float32Array, this.heads * pairs, "friends_weights", temperature);
        if (head >= 0) return all.subarray(head * pairs, (head + 1) * pairs);
        return Array.from({ length: pairs }, (_, pair) => {
            let sum = 0;
            for (let h = 0; h < this.heads; ++h) sum += all[h * pairs + pair];
            return sum / this.heads;
        });
    }

    show() {
        const temperature = find("temperature").valueAsNumber, picked = Number(find("member").value);
        find("temperature-value").textContent = temperature.toFixed(2);
        orRefused(find("club-refused"), () => {
            const weights = this.weights(temperature, Number(find("head").value));
            this.draw((from, to) => weights[from * this.members + to], picked);
        });
    }

    draw(weight, picked) {
        const drawing = find("club");
        drawing.replaceChildren();
        const looks = [];
        for (const [a, b] of this.friendships) looks.push([a, b, weight(a, b)], [b, a, weight(b, a)]);
        looks.sort((one, other) => one[2] - other[2]);
        for (const [from, to, share] of looks) this.drawLook(drawing, from, to, share, picked);
        for (let i = 0; i < this.members; ++i) this.drawMember(drawing, i, weight(i, i), picked);
        const shown = looks.concat(Array.from({ length: this.members }, (_, i) => [i, i, weight(i, i)]));
        this.list(picked < 0 ? looks : shown.filter(look => look[0] === picked), picked);
    }

    /** From a member to the middle of the line; of the one that is picked, all the way. */
    drawLook(drawing, from, to, share, picked) {
        const length = from === picked ? 1 : 0.5, isFaint = picked >= 0 && from !== picked;
        addWeight(drawing, "line", from, to, share, {
            x1: this.x[from], y1: this.y[from],
            x2: between(this.x[from], this.x[to], length), y2: between(this.y[from], this.y[to], length),
            "stroke-width": isFaint ? 1.5 : 1.5 + 26 * share,
            "stroke-opacity": isFaint ? 0.2 : 0.25 + 0.7 * Math.sqrt(share),
        });
    }

    drawMember(drawing, i, self, picked) {
        const x = this.x[i], y = this.y[i], isFaint = picked >= 0 && i !== picked;
        const member = add(drawing, "g", { class: "member" });
        const ring = isFaint ? 0 : 26 * self, mark = i === picked ? " picked" : "";
        addWeight(member, "circle", i, i, self, { class: "self", cx: x, cy: y, r: 18 + ring / 2, "stroke-width": ring });
        if (this.calls.exports.stayed(i)) add(member, "circle", { class: "stayed" + mark, cx: x, cy: y, r: 18 });
        else add(member, "rect", { class: "left" + mark, x: x - 17, y: y - 17, width: 34, height: 34, rx: 5 });
        add(member, "text", { x, y }, i + 1);
        member.addEventListener("click", () => {
            find("member").value = i === picked ? -1 : i;
            this.show();
        });
    }

    list(looks, picked) {
        const table = find("friends"), body = table.tBodies[0];
        table.caption.textContent = picked < 0 ? "The largest weights" : `Where member ${picked + 1} looks`;
        body.replaceChildren();
        looks.sort((one, other) => other[2] - one[2]);
        for (const [from, to, share] of looks.slice(0, picked < 0 ? 12 : looks.length)) {
            const row = add(body, "tr", {});
            add(row, "td", {}, from + 1);
            add(row, "td", {}, from === to ? "itself" : to + 1);
            addWeight(row, "td", from, to, share, { style: `--share: ${100 * share}%` }, asText(share));
        }
    }
}

class Past {
    constructor(calls) {
        this.calls = calls;
        this.count = calls.exports.positions();
        this.row = this.count - 1;
        this.column = this.count - 1;
        find("past").setAttribute("viewBox", `-1.4 -1.4 ${this.count + 1.8} ${this.count + 1.8}`);
        for (const control of document.querySelectorAll("#period, #left, #slope, [name=seen]"))
            control.addEventListener("input", () => this.show());
        for (const share of [0, 0.02, 0.1, 0.3, 1]) this.explain(share);
        find("past").addEventListener("pointerover", event => this.pick(event.target));
        find("past").addEventListener("click", event => this.pick(event.target));
        find("past").addEventListener("keydown", event => this.move(event));
        this.show();
    }

    show() {
        const choice = document.querySelector("[name=seen]:checked"), seen = Number(choice.value);
        const values = { period: 0, left: 0, slope: 0 };
        for (const id of Object.keys(values)) {
            values[id] = find(id).valueAsNumber;
            find(`${id}-value`).textContent = values[id];
        }
        for (const label of document.querySelectorAll("label[data-seen]")) label.hidden = label.dataset.seen !== choice.value;
        for (const code of document.querySelectorAll("code[data-code]"))
            code.hidden = code.dataset.code !== choice.dataset.code;
        const limit = [0, values.left, values.slope][seen], pairs = this.count * this.count;
        orRefused(find("past-refused"), () => {
            this.weights = this.calls.numbers(Float32Array, pairs, "past_weights", seen, values.period, limit);
            this.draw();
        });
    }

    /** The shade of a weight, for the legend. */
    explain(share) {
        const entry = add(find("scale"), "span", {});
        const drawing = document.createElementNS("http://www.w3.org/2000/svg", "svg");
        drawing.setAttribute("viewBox", "0 0 1 1");
        addSquare(drawing, 0, 0, share, true);
        entry.append(drawing, share);
    }

    /** The weight of a pair, which is 0 where the mask leaves it out, and nowhere else. */
    weight(row, column) {
        return this.weights[row * this.count + column];
    }

    draw() {
        const drawing = find("past");
        drawing.replaceChildren();
        for (let i = 0; i < this.count; i += 4) {
            add(drawing, "text", { x: i + 0.5, y: -0.7 }, i);
            add(drawing, "text", { x: -0.7, y: i + 0.5 }, i);
        }
        for (let row = 0; row < this.count; ++row)
            for (let column = 0; column < this.count; ++column) {
                const share = this.weight(row, column);
                addSquare(drawing, row, column, share, share > 0);
            }
        this.mark = add(drawing, "rect", { class: "picked", width: 1, height: 1 });
        this.say();
    }

    /** The pair under the pointer: of the two squares that lie there, it meets the one below. */
    pick(square) {
        if (!square.classList.contains("seen")) return;
        this.row = square.y.baseVal.value;
        this.column = square.x.baseVal.value;
        this.say();
    }

    move(event) {
        const steps = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] };
        if (!(event.key in steps)) return;
        event.preventDefault();
        const inside = value => Math.min(Math.max(value, 0), this.count - 1);
        this.row = inside(this.row + steps[event.key][0]);
        this.column = inside(this.column + steps[event.key][1]);
        this.say();
    }

    say() {
        const share = this.weight(this.row, this.column);
        this.mark.setAttribute("x", this.column);
        this.mark.setAttribute("y", this.row);
        find("past-pair").textContent = share > 0
            ? `Position ${this.row} gives position ${this.column} the weight ${asText(share)}.`
            : `Position ${this.row} does not see position ${this.column}.`;
    }
}

/** Settled when the first pictures are drawn. */
const drawn = Calls.load().then(calls => {
    new Club(calls);
    new Past(calls);
}).catch(error => {
    find("problem").hidden = false;
    find("problem").textContent = `The module did not start: ${error.message}`;
    throw error;
});
