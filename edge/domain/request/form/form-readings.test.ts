/**
 * Forms that some parser of an upstream reads differently from the gateway (docs/rules/request-bodies.md#forms). These
 * parsers are werkzeug, Django, Tornado, aiohttp and Python's email package, Go's mime/multipart, PHP, Rack, formidable
 * and multiparty.
 */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { bytesOf, readForm } from "../../../../test/harness/edge/read-form.ts";
import { boundaryOf, partOf } from "./form-head.ts";

const TYPE = "multipart/form-data; boundary=BB";
const field = (name: string, value: string, delimiter = "--BB"): string =>
  `${delimiter}\r\nContent-Disposition: form-data; name="${name}"\r\n\r\n${value}\r\n`;
const SECRET = 'Content-Disposition: form-data; name="model"\r\n\r\nsecret';
const HONEST = field("model", "honest");
const END = "--BB--\r\n";
const withData = (data: string): string => `${field("pad", data)}${HONEST}${END}`;

/** Bodies that hide a part from a strict reader; the model in each of them is correct. */
const HIDDEN: readonly (readonly [string, string])[] = [
  ["a delimiter after a lone LF", withData(`x\n--BB\n${SECRET}`)],
  ["a delimiter after a lone CR", withData(`x\r--BB\r${SECRET}`)],
  ["a delimiter after a lone LF, that ends as it should", withData(`x\n--BB\r\n${SECRET}`)],
  ["a delimiter in the middle of a line", withData(`x--BB\r\n${SECRET}`)],
  ["a delimiter after another dash", withData(`x\r\n---BB\r\n${SECRET}`)],
  ["a delimiter where the content begins", withData(`--BB\r\n${SECRET}`)],
  ["a delimiter ended by LF", withData(`x\r\n--BB\n${SECRET}`)],
  ["a delimiter ended by CR", withData(`x\r\n--BB\r${SECRET}`)],
  ["a delimiter followed by spaces", withData(`x\r\n--BB \t\r\n${SECRET}`)],
  ["a delimiter followed by a form feed", withData(`x\r\n--BB\f\r\n${SECRET}`)],
  ["a delimiter followed by text", withData(`x\r\n--BBx\r\n${SECRET}`)],
  ["a delimiter followed by one dash", withData(`x\r\n--BB-\r\n${SECRET}`)],
  ["a closing delimiter after a lone LF", withData("x\n--BB--\r\n")],
  ["a closing delimiter in the middle of a line", withData("x--BB--")],
  ["spaces after the first delimiter", `--BB \r\n${HONEST.slice(6)}${END}`],
  ["a form after the form", `${HONEST}${END}${field("model", "secret")}${END}`],
  ["a form right after the form", `${HONEST}--BB--${field("model", "secret")}${END}`],
  ["a text after the form", `${HONEST}${END}x`],
  ["a form before the form", `x\r\n${field("model", "secret", "--BB\t")}${HONEST}${END}`],
  ["a delimiter among headers", `--BB\r\nX-A: --BB\r\n${SECRET}\r\n${END}`],
];

describe("a form that another parser would split differently", () => {
  it.each(HIDDEN)("is refused, cut anywhere: %s", (_, text) => {
    const body = bytesOf(text);
    expect(readForm(TYPE, body)).toBe("refused");
    for (let cut = 1; cut < body.byteLength; cut += 1)
      expect({ cut, form: readForm(TYPE, body, [cut]) }).toEqual({ cut, form: "refused" });
    expect(readForm(TYPE, body, [...body.keys()])).toBe("refused");
  });

  it("gets the same verdict however it is cut", () => {
    const shred = fc.constantFrom("\r", "\n", "\r\n", "-", "--", "B", "BB", "--BB", "\r\n--BB", " ", "x", SECRET, END);
    fc.assert(
      fc.property(fc.array(shred, { maxLength: 12 }), fc.array(fc.nat(2000)), (shreds, cuts) => {
        const body = bytesOf(`${HONEST}${field("pad", shreds.join(""))}${END}`);
        const whole = readForm(TYPE, body);
        expect(readForm(TYPE, body, cuts)).toEqual(whole);
        expect(readForm(TYPE, body, [...body.keys()])).toEqual(whole);
      }),
    );
  });

  it("is accepted only if every way to find its delimiters agrees", () => {
    const shred = fc.constantFrom("\r", "\n", "\r\n", "-", "--", "B", "b--", "--B", "x");
    const boundary = fc.constantFrom("B", "BB", "-B", "--B-B", "---", "B--B", "B-");
    fc.assert(
      fc.property(boundary, fc.array(shred, { maxLength: 30 }), (name, shreds) => {
        const content = shreds.join("");
        const delimiter = `--${name}`;
        const verdict = readForm(
          `multipart/form-data; boundary=${name}`,
          bytesOf(`${field("pad", content, delimiter)}${delimiter}--`),
        );
        // the content may also start one together with the delimiter that follows it
        const first = `${content}\r\n${delimiter}`.indexOf(delimiter);
        if (first === content.length + 2) expect(verdict).toEqual([["pad", content]]);
        else if (!content.slice(0, first).endsWith("\r\n")) expect(verdict).toBe("refused");
      }),
    );
  });
});

describe("a part that another parser would name differently", () => {
  const disposition = (parameters: string): string => `Content-Disposition: form-data; ${parameters}\r\n`;

  it.each([
    ['name="pad"; name*0=model'],
    ['name="pad"; NAME*0*=model'],
    ["name=\"pad\"; name*=utf-8''model"],
    ["name=\"pad\"; name *=utf-8''model"],
    ["name=\"pad\"; name* =utf-8''model"],
    ["name*0=mod; name*1=el; name=pad"],
    ['name="pad"; filename*0="x"'],
    ["name='n'"],
    ["name=\"'n'\""],
    ["name='model'"],
    ['name="pad"; x-name="model"'],
    ['name="pad"; filename="; name=model"'],
    ['name="pad"; filename="a\\"; name=\\"model"'],
    ['filename="a name=model"; name="pad"'],
    ['name ="model"'],
    ['name= "model"'],
    ['name="pad"\u00a0; x=y'],
    ['name="mo\\del"'],
    ['name="n[]"'],
    ['name="model[0]"'],
    ['name="max tokens"'],
    ['name="max.tokens"'],
    ['name="+n"'],
    ['name="prompt[]"'],
    ['name="Prompt[0]"'],
    ['name="instructions "'],
    ['name="pr%6fmpt"'],
    ['name="prompt"; filename="x"'],
    ['name="=?utf-8?B?bW9kZWw=?="'],
    ['name="_charset_"'],
    ['name="_CHARSET_"'],
    ['name="mod\u{fffd}el"'],
    ['name="pad\u0000"'],
    ['name="pad"; filename="\u0000"'],
    ['name="pad"; filename="\u2028x"'],
    ['name="pad"; filename="\u0085x"'],
    ["name=a,b"],
    ["name=n]"],
    ["name=n[x"],
    ["name="],
    ['name="pad";; x=y'],
    ['name="pad"; x='],
  ])("%s is refused", (parameters) => {
    expect(partOf(disposition(parameters))).toBeNull();
  });

  const pad = disposition('name="pad"');
  it.each([
    ["a space before a colon", `${pad}Content-Disposition : form-data; name="model"\r\n`],
    ["a tab before a colon", `${pad}X\t: y\r\n`],
    [
      "a header twice",
      `${disposition('name="n"')}Content-Transfer-Encoding: base64\r\nContent-Transfer-Encoding: 8bit\r\n`,
    ],
    ["a folded header", `Content-Disposition: form-data;\r\n name="pad"\r\n`],
    ["a lone LF", `X: y\nContent-Disposition: form-data; name="model"\r\n${pad}`],
    ["a lone CR", `X: y\rContent-Disposition: form-data; name="model"\r\n${pad}`],
    ["a NUL in a name", `X\u0000: y\r\n${pad}`],
    ["a NUL in a value", `X: \u0000\r\n${pad}`],
    ["a name that is not ASCII", `Ẍ: y\r\n${pad}`],
    ["a name with a byte order mark", `\u{feff}${pad}`],
    ["a header that ends like another", `X-Content-Disposition: form-data; name="model"\r\n${pad}`],
    ["a header that quotes another", `X: Content-Disposition: form-data; name="model"\r\n${pad}`],
    ["a form in a form", `${pad}Content-Type: multipart/mixed; boundary=CC\r\n`],
    ["a message in a form", `${pad}Content-Type: message/rfc822\r\n`],
    ["an encoded prompt", `${disposition('name="prompt"')}Content-Transfer-Encoding: base64\r\n`],
    ["encoded instructions", `${disposition('name="instructions"')}Content-Transfer-Encoding: quoted-printable\r\n`],
    ["a prompt in another alphabet", `${disposition('name="prompt"')}Content-Type: text/plain; charset=utf-16\r\n`],
    ["another alphabet", `${disposition('name="n"')}Content-Type: text/plain; charset=utf-7\r\n`],
  ])("%s is refused", (_, headers) => {
    expect(partOf(headers)).toBeNull();
  });
});

describe("a content type in which another parser would find another boundary", () => {
  it.each([
    ["boundary=BB; boundary*=utf-8''CC"],
    ["boundary=BB; boundary*0=CC"],
    ["boundary=BB; Boundary*0*=CC"],
    ["boundary=BB; boundary *=CC"],
    ["boundary*=utf-8''BB"],
    ["boundary=BB; boundary=CC"],
    ["boundary=BB; BOUNDARY=BB"],
    ["x-boundary=CC; boundary=BB"],
    ["boundary=BB; x=boundary=CC"],
    ['boundary=BB; x="; boundary=CC"'],
    ['boundary="xboundary=CC"'],
    ['boundary="BB\\x"'],
    ['boundary="BB\\""'],
    ['boundary=" BB"'],
    ['boundary="BB "'],
    ["boundary='BB'"],
    ["boundary=BB,multipart/form-data; boundary=CC"],
    ["boundary=BB, multipart/form-data; boundary=CC"],
    ['boundary="BB,CC"'],
    ["boundary=BB=x"],
    ["boundary=BB:x"],
    ["boundary=BB/x"],
    ["boundary=BB(x)"],
    ["boundary=BB x"],
    ["boundary =BB"],
    ["boundary= BB"],
    ["boundary=BB; x"],
    ["boundary=BB; charset=utf-7"],
    ["boundary=BB; charset=utf-16"],
    ["boundary=BB; charset*=utf-8''utf-7"],
    ["boundary=BB; charset=utf-8; charset=utf-7"],
    ["boundary=BB\u00a0"],
  ])("%s is refused", (parameters) => {
    expect(boundaryOf(`multipart/form-data; ${parameters}`)).toBeNull();
  });
});
