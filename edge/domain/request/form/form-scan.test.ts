import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { concat } from "../../wire/bytes/byte-pieces.ts";
import { boundaryOf, partOf } from "./form-head.ts";
import { type FormPiece, FormScan } from "./form-scan.ts";

const bytesOf = (text: string): Uint8Array => new TextEncoder().encode(text);

/** A form as written, and its contents. */
function formOf(boundary: string, parts: readonly { name: string; content: Uint8Array; file: boolean }[]): Uint8Array {
  const head = (name: string, file: boolean): string =>
    `--${boundary}\r\nContent-Disposition: form-data; name="${name}"${file ? '; filename="a; b.wav"' : ""}\r\n\r\n`;
  return concat([
    ...parts.flatMap(({ name, content, file }) => [bytesOf(head(name, file)), content, bytesOf("\r\n")]),
    bytesOf(`--${boundary}--\r\n`),
  ]);
}

/** Pushes `body` cut at `cuts`; null when the scan refuses it. */
function scan(boundary: string, body: Uint8Array, cuts: readonly number[]) {
  const scanner = new FormScan(boundary);
  const pieces: FormPiece[] = [];
  const places = [...new Set([0, ...cuts.map((cut) => cut % (body.byteLength + 1)), body.byteLength])].sort(
    (a, b) => a - b,
  );
  for (const [at, start] of places.entries()) {
    const pushed = scanner.push(body.slice(start, places[at + 1] ?? body.byteLength));
    if (pushed === null) return null;
    pieces.push(...pushed);
  }
  return { pieces, complete: scanner.complete };
}

const contentOf = (pieces: readonly FormPiece[], name: string): Uint8Array =>
  concat(pieces.flatMap((piece) => (piece.kind === "data" && piece.part.name === name ? [piece.bytes] : [])));

describe("a form, cut anywhere", () => {
  it("is its pieces, byte for byte, with every part whole", () => {
    const awkward = fc
      .array(fc.constantFrom("\r", "\n", "\r\n", "-", "--", "-b", "b", "\r\n-", "\r\n--", "\r\r\n-", "x"))
      .map((texts) => bytesOf(texts.join("")));
    const content = fc
      .oneof(awkward, fc.uint8Array({ maxLength: 200 }))
      .filter((bytes) => !new TextDecoder().decode(bytes).includes("--b"));
    const part = fc.record({ name: fc.constantFrom("file", "n", "user"), content, file: fc.boolean() });
    fc.assert(
      fc.property(fc.array(part, { maxLength: 4 }), fc.array(fc.nat(2000)), (parts, cuts) => {
        const named = parts.map((entry, at) => ({ ...entry, name: `${entry.name}${at}` }));
        const body = formOf("b", named);
        const result = scan("b", body, cuts);
        expect(result?.complete).toBe(true);
        const pieces = result?.pieces ?? [];
        expect(concat(pieces.flatMap((piece) => (piece.kind === "end" ? [] : [piece.bytes])))).toEqual(body);
        for (const { name, content: expected } of named) expect(contentOf(pieces, name)).toEqual(expected);
        expect(pieces.flatMap((piece) => (piece.kind === "end" ? [piece.part] : []))).toEqual(
          named.map(({ name, file }) => ({ name, file, written: "utf-8" })),
        );
      }),
    );
  });

  it("is not complete before its closing delimiter", () => {
    const body = formOf("b", [{ name: "n", content: bytesOf("1"), file: false }]);
    for (let end = 0; end < body.byteLength - 2; end += 1)
      expect({ end, complete: scan("b", body.slice(0, end), [])?.complete }).toEqual({ end, complete: false });
    expect(scan("b", body.slice(0, -2), [])?.complete).toBe(true);
  });

  it.each([
    ["what is no form", "hello world, this is no form at all"],
    ["another boundary", '--c\r\nContent-Disposition: form-data; name="a"\r\n\r\n1\r\n--c--\r\n'],
    ["a part without headers", "--b\r\n\r\n1\r\n--b--\r\n"],
    ["a part without a name", "--b\r\nContent-Disposition: form-data\r\n\r\n1\r\n--b--\r\n"],
    ["a part of another kind", '--b\r\nContent-Disposition: attachment; name="a"\r\n\r\n1\r\n--b--\r\n'],
    [
      "more parts than any client sends",
      `${'--b\r\nContent-Disposition: form-data; name="a"\r\n\r\n\r\n'.repeat(1001)}--b--`,
    ],
    ["headers without end", `--b\r\nx: ${"y".repeat(20_000)}`],
  ])("refuses %s", (_, text) => {
    expect(scan("b", bytesOf(text), [])).toBeNull();
  });
});

describe("the name of a part", () => {
  const part = (disposition: string, more = ""): unknown => partOf(`Content-Disposition: ${disposition}\r\n${more}`);

  it.each([
    ['form-data; name="a"', { name: "a", file: false, written: "utf-8" }],
    ["form-data; name=a", { name: "a", file: false, written: "utf-8" }],
    ['Form-Data;Name="a";filename="x.wav"', { name: "a", file: true, written: "utf-8" }],
    ["form-data; name=\"a\"; filename*=UTF-8''x.wav", { name: "a", file: true, written: "utf-8" }],
    ['form-data; name="a;b=c"', { name: "a;b=c", file: false, written: "utf-8" }],
    ['form-data; name="model"', { name: "model", file: false, written: "utf-8" }],
    ['form-data; name="n"', { name: "n", file: false, written: "utf-8" }],
    // named to the client as what they are, once the form is read
    ['form-data; name="Model"', { name: "Model", file: false, written: "utf-8" }],
    ['form-data; name="N"; filename="n.txt"', null],
  ])("%s is %j", (disposition, expected) => {
    expect(part(disposition)).toEqual(expected);
  });

  it.each([
    ['form-data; name="mod\\el"'],
    ['form-data; name="mode%6c"'],
    ['form-data; name=" Model"'],
    ['form-data; name="x"; name="model"'],
    ["form-data; name=\"x\"; name*=UTF-8''model"],
    ['form-data; name="model"; filename="m.txt"'],
    ['form-data; name="x"; "odd"'],
    ['form-data; name="\\n"'],
    ['form-data; name="%6e"'],
    ['form-data; name=" n"'],
    ['form-data; name="n"; filename="n.txt"'],
    ['form-data; name="num%5Fimages"'],
    ['form-data; name="num.images"'],
    ['form-data; name="num_images[value]"'],
    ['form-data; name="sampling_params[%6e]"'],
    ['form-data; name="max_tokens"', "Content-Transfer-Encoding: quoted-printable\r\n"],
    ['form-data; name="model"', "Content-Transfer-Encoding: base64\r\n"],
    ['form-data; name="x"', 'Content-Disposition: form-data; name="model"\r\n'],
    ['form-data; name="x"', " folded: y\r\n"],
  ])("%s is refused, for it could be read as a field that counts", (disposition, more = "") => {
    expect(part(disposition, more)).toBeNull();
  });
});

describe("the boundary of a form", () => {
  it.each([
    ["multipart/form-data; boundary=abc", "abc"],
    ['Multipart/Form-Data; charset=utf-8; boundary="a b:c"', "a b:c"],
    ["multipart/form-data", null],
    ["multipart/form-data; boundary=", null],
    ["multipart/form-data; boundary=a; boundary=b", null],
    [`multipart/form-data; boundary=${"x".repeat(71)}`, null],
    ["multipart/mixed; boundary=a", null],
    ["application/json", null],
    [null, null],
  ])("of %s is %s", (contentType, boundary) => {
    expect(boundaryOf(contentType)).toBe(boundary);
  });
});
