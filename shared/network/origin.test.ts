import fc from "fast-check";
import { expect, it } from "vitest";
import { mailOrigin, originOf } from "./origin.ts";

it.each([
  ["https://a.example/v1", "https://a.example:443/other?x=1"],
  ["HTTPS://A.Example", "https://a.example/"],
  ["http://a.example:80/v1", "http://a.example"],
  ["http://[::1]:8000/v1", "http://[0:0:0:0:0:0:0:1]:8000"],
  ["http://127.0.0.1/v1", "http://0x7f.1/v1"],
  ["https://bücher.example", "https://xn--bcher-kva.example"],
])("%s is of the origin of %s", (one, other) => {
  expect(originOf(one)).toBe(originOf(other));
  expect(originOf(one)).not.toBe("");
});

it.each([
  ["https://a.example", "http://a.example"],
  ["https://a.example", "https://a.example:444"],
  ["https://a.example", "https://a.example."],
  ["https://a.example", "https://b.a.example"],
  ["https://a.example", "https://a.example.evil"],
  ["https://a.example", ""],
])("%s is not of the origin of %j", (one, other) => {
  expect(originOf(one)).not.toBe(originOf(other));
});

it("is blank for text that is not an address of a server", () => {
  for (const text of ["", " ", "a.example", "ftp://a.example", "javascript:alert(1)", "//a.example"])
    expect({ text, origin: originOf(text) }).toEqual({ text, origin: "" });
});

it("never depends on the text after the port", () => {
  fc.assert(
    fc.property(fc.webUrl({ withQueryParameters: true, withFragments: true }), fc.webPath(), (url, path) => {
      const origin = originOf(url);
      expect(originOf(`${origin}${path}`)).toBe(origin);
    }),
  );
});

it("of a mail server consists of its host in lower case, its port, and whether it encrypts", () => {
  const server = { smtp_host: "Mail.Example", smtp_port: 587, starttls: true };
  expect(mailOrigin(server)).toBe(mailOrigin({ ...server, smtp_host: "mail.example" }));
  for (const change of [{ smtp_host: "mail.example." }, { smtp_port: 25 }, { starttls: false }])
    expect(mailOrigin({ ...server, ...change })).not.toBe(mailOrigin(server));
});
