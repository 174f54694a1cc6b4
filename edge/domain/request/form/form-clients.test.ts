/**
 * Forms of ordinary clients, which must not be refused for suspicion of hostile ones
 * (docs/rules/request-bodies.md#forms).
 */
import { describe, expect, it } from "vitest";
import { bytesOf, readForm } from "../../../../test/harness/edge/read-form.ts";

/** Forms as programs write them, line by line. */
const CLIENTS: readonly (readonly [string, string, readonly string[]])[] = [
  [
    "curl",
    "multipart/form-data; boundary=------------------------Rz5o2kP6bE0yXo3K2nqf7A",
    [
      "--------------------------Rz5o2kP6bE0yXo3K2nqf7A",
      'Content-Disposition: form-data; name="model"',
      "",
      "m",
      "--------------------------Rz5o2kP6bE0yXo3K2nqf7A",
      'Content-Disposition: form-data; name="file"; filename="a \\"b\\" ü.wav"',
      "Content-Type: application/octet-stream",
      "",
      "bytes",
      "--------------------------Rz5o2kP6bE0yXo3K2nqf7A--",
      "",
    ],
  ],
  [
    "a browser",
    "multipart/form-data; boundary=----WebKitFormBoundary7MA4YWxkTrZu0gW",
    [
      "------WebKitFormBoundary7MA4YWxkTrZu0gW",
      'Content-Disposition: form-data; name="model"',
      "",
      "m",
      "------WebKitFormBoundary7MA4YWxkTrZu0gW",
      'Content-Disposition: form-data; name="file"; filename="a %22b%22; ü.wav"',
      "Content-Type: audio/wav",
      "",
      "bytes",
      "------WebKitFormBoundary7MA4YWxkTrZu0gW--",
      "",
    ],
  ],
  [
    "requests and httpx for Python",
    "multipart/form-data; boundary=0b9c3a4b6c5d4e4f8a7b6c5d4e3f2a1b",
    [
      "--0b9c3a4b6c5d4e4f8a7b6c5d4e3f2a1b",
      'Content-Disposition: form-data; name="model"',
      "",
      "m",
      "--0b9c3a4b6c5d4e4f8a7b6c5d4e3f2a1b",
      "Content-Disposition: form-data; name=\"file\"; filename*=utf-8''a%20%C3%BC.wav",
      "Content-Type: audio/x-wav",
      "",
      "bytes",
      "--0b9c3a4b6c5d4e4f8a7b6c5d4e3f2a1b--",
      "",
    ],
  ],
  [
    "Go",
    "multipart/form-data; boundary=a1b2c3d4e5f60718293a4b5c6d7e8f90a1b2c3d4e5f60718293a4b5c6d7e",
    [
      "--a1b2c3d4e5f60718293a4b5c6d7e8f90a1b2c3d4e5f60718293a4b5c6d7e",
      'Content-Disposition: form-data; name="model"',
      "",
      "m",
      "--a1b2c3d4e5f60718293a4b5c6d7e8f90a1b2c3d4e5f60718293a4b5c6d7e",
      'Content-Disposition: form-data; name="file"; filename="a.wav"',
      "Content-Type: application/octet-stream",
      "",
      "bytes",
      "--a1b2c3d4e5f60718293a4b5c6d7e8f90a1b2c3d4e5f60718293a4b5c6d7e--",
      "",
    ],
  ],
  [
    ".NET",
    'multipart/form-data; boundary="5a1f0e6c-8f5b-4f43-9a41-0c1d2e3f4a5b"',
    [
      "--5a1f0e6c-8f5b-4f43-9a41-0c1d2e3f4a5b",
      "Content-Type: text/plain; charset=utf-8",
      "Content-Disposition: form-data; name=model",
      "",
      "m",
      "--5a1f0e6c-8f5b-4f43-9a41-0c1d2e3f4a5b",
      "Content-Disposition: form-data; name=file; filename=\"=?utf-8?B?w7wud2F2?=\"; filename*=utf-8''%C3%BC.wav",
      "",
      "bytes",
      "--5a1f0e6c-8f5b-4f43-9a41-0c1d2e3f4a5b--",
      "",
    ],
  ],
  [
    "Apache HttpClient",
    "multipart/form-data; boundary=_Qx3k-Wv0r_7Yp; charset=ISO-8859-1",
    [
      "--_Qx3k-Wv0r_7Yp",
      'Content-Disposition: form-data; name="model"',
      "Content-Type: text/plain; charset=ISO-8859-1",
      "Content-Transfer-Encoding: 8bit",
      "",
      "m",
      "--_Qx3k-Wv0r_7Yp",
      'Content-Disposition: form-data; name="file"; filename="a.wav"',
      "Content-Type: application/octet-stream",
      "Content-Transfer-Encoding: binary",
      "",
      "bytes",
      "--_Qx3k-Wv0r_7Yp--",
      "",
    ],
  ],
  [
    "OkHttp",
    "multipart/form-data; boundary=3e2b7c1a-6d5e-4b8f-9a0c-112233445566",
    [
      "--3e2b7c1a-6d5e-4b8f-9a0c-112233445566",
      'Content-Disposition: form-data; name="model"',
      "Content-Length: 1",
      "",
      "m",
      "--3e2b7c1a-6d5e-4b8f-9a0c-112233445566",
      'Content-Disposition: form-data; name="file"; filename="a.wav"',
      "Content-Type: audio/wav",
      "Content-Length: 5",
      "",
      "bytes",
      "--3e2b7c1a-6d5e-4b8f-9a0c-112233445566--",
      "",
    ],
  ],
];

describe("a form of an ordinary client", () => {
  it.each(CLIENTS)("is read: %s", (_, type, lines) => {
    const body = bytesOf(lines.join("\r\n"));
    const expected = [
      ["model", "m"],
      ["file", "bytes"],
    ];
    expect(readForm(type, body)).toEqual(expected);
    expect(readForm(type, body, [...body.keys()])).toEqual(expected);
  });

  it("is read: FormData of fetch, with any name of a file, and every field of an image", async () => {
    const form = new FormData();
    for (const [name, value] of [
      ["model", "m"],
      ["n", "2"],
      ["prompt", "two\nlines\r\n-- and dashes --\r\r\n"],
      ["timestamp_granularities[]", "word"],
      ["include[]", "logprobs"],
    ] as const)
      form.append(name, value);
    form.append("image[]", new File(["x"], "a\"b; c=d\\'e\r\nü.png", { type: "image/png" }));
    const request = new Request("http://x", { method: "POST", body: form });
    const parts = readForm(request.headers.get("content-type") ?? "", new Uint8Array(await request.arrayBuffer()));
    expect(parts).toEqual([
      ["model", "m"],
      ["n", "2"],
      ["prompt", "two\r\nlines\r\n-- and dashes --\r\n\r\n"],
      ["timestamp_granularities[]", "word"],
      ["include[]", "logprobs"],
      ["image[]", "x"],
    ]);
  });

  const MODEL = '--BB\r\nContent-Disposition: form-data; name="model"\r\n\r\nm\r\n';

  it("may end with blank lines, or without any", () => {
    for (const end of ["--BB--", "--BB--\r\n", "--BB--\r\n\r\n", "--BB--\n"])
      expect(readForm("multipart/form-data; boundary=BB", bytesOf(`${MODEL}${end}`), [MODEL.length + 4])).toEqual([
        ["model", "m"],
      ]);
  });
});
