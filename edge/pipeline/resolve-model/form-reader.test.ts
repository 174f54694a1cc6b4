/**
 * The fields of a form that decisions rest on, when the form is cut at any point (docs/rules/request-bodies.md#forms).
 */
import { describe, expect, it } from "vitest";
import { GatewayError } from "../../../shared/errors.ts";
import { sourceOf } from "../../../test/harness/edge/pipeline/forms.ts";
import { FormScan } from "../../domain/request/form/form-scan.ts";
import { concat } from "../../domain/wire/bytes/byte-pieces.ts";
import { FormReader } from "./form-reader.ts";

type Field = readonly [name: string, value: string | Uint8Array];

/** A form of these fields, in chunks of this many bytes. */
function requestOf(fields: readonly Field[], chunkBytes: number): Request {
  const text = (value: string): Uint8Array => new TextEncoder().encode(value);
  const bytes = concat([
    ...fields.flatMap(([name, value]) => [
      text(`--b\r\nContent-Disposition: form-data; name="${name}"\r\n\r\n`),
      typeof value === "string" ? text(value) : value,
      text("\r\n"),
    ]),
    text("--b--\r\n"),
  ]);
  const chunks: Uint8Array[] = [];
  for (let at = 0; at < bytes.byteLength; at += chunkBytes) chunks.push(bytes.slice(at, at + chunkBytes));
  const body = new ReadableStream({
    type: "bytes",
    pull: (controller) => {
      const chunk = chunks.shift();
      if (chunk !== undefined) return controller.enqueue(chunk);
      controller.close();
      controller.byobRequest?.respond(0);
    },
  });
  return new Request("http://x", { method: "POST", body, duplex: "half" } as RequestInit);
}

/** The noted fields of the form, or the error that it ends with. */
async function take(fields: readonly Field[], chunkBytes: number): Promise<unknown> {
  const source = sourceOf(requestOf(fields, chunkBytes), 1_000_000);
  const reader = new FormReader(source, new FormScan("b"), ["model", "n"]);
  try {
    while (await reader.readMore());
    return reader.fields;
  } catch (error) {
    if (!(error instanceof GatewayError)) throw error;
    return [error.code, error.body.error.param];
  }
}

const half = new Uint8Array([0x61, 0xf0, 0x9f]);

describe.each([1, 7, 100_000])("fields that come %i bytes at a time", (chunkBytes) => {
  it.each<[readonly Field[], unknown]>([
    [
      [
        ["model", "m"],
        ["n", "3"],
        ["user", "u"],
      ],
      { model: "m", n: "3", user: "u" },
    ],
    [
      [
        ["model", "m"],
        ["prompt", "not read"],
        ["language", "xx"],
      ],
      { model: "m" },
    ],
    [
      [
        ["user", "a"],
        ["user", "b"],
        ["model", "m"],
      ],
      { user: "b", model: "m" },
    ],
    [
      [
        ["model", "m"],
        ["user", half],
      ],
      { model: "m" },
    ],
    [[["model", half]], ["invalid_multipart", null]],
    [
      [
        ["model", "m"],
        ["model", "m"],
      ],
      ["invalid_multipart", null],
    ],
    [
      [
        ["model", "m"],
        ["n", "0"],
      ],
      ["validation_failed", "n"],
    ],
    [
      [
        ["model", "m"],
        ["n", half],
      ],
      ["validation_failed", "n"],
    ],
    [
      [
        ["model", "m"],
        ["n", ""],
      ],
      ["validation_failed", "n"],
    ],
    [
      [
        ["model", "m"],
        ["n", "9".repeat(400)],
      ],
      ["validation_failed", "n"],
    ],
    [
      [
        ["n", "1"],
        ["n", "1"],
      ],
      ["validation_failed", "n"],
    ],
    [
      [
        ["n", "1"],
        ["N", "1"],
      ],
      ["validation_failed", "N"],
    ],
    ...[
      "num_outputs_per_prompt",
      "num_images",
      "num_images_per_prompt",
      "numImages",
      "num_images[]",
      "sampling_params[n]",
    ].map((name): [readonly Field[], unknown] => [[[name, "10"]], { n: "10" }]),
    [
      [
        ["num_images", "2"],
        ["n", "2"],
      ],
      { n: "2" },
    ],
    [
      [
        ["n", "1"],
        ["num_images", "10"],
      ],
      ["validation_failed", "num_images"],
    ],
    [[["Num_Images", "ten"]], ["validation_failed", "Num_Images"]],
    ...["image", "image[]", "image_url", "url", "image[0][url]", "imageUrl", "video"].flatMap(
      (name): [readonly Field[], unknown][] => [
        [[[name, "file:///etc/passwd"]], ["validation_failed", name]],
        [[[name, `\u0001FI\nLE:///${"x".repeat(400)}`]], ["validation_failed", name]],
        [[[name, "https://a.test/file:x"]], {}],
        [[[name, half]], {}],
        [[[name, `data:image/png;base64,${"a".repeat(400)}`]], {}],
      ],
    ),
    ...[
      ["image", "/etc/x.png"],
      ["image[]", "../x.png"],
      ["mask_url", "~/x.png"],
      ["parameters[image]", "file:///x"],
      ["voice", "file:///x"],
      ["mask_image", "s3://b/a"],
    ].map(([name = "", value = ""]): [readonly Field[], unknown] => [[[name, value]], ["validation_failed", name]]),
    ...[
      ["metadata[url]", "file:///x"],
      ["prompt", "file:///x is a file"],
      ["image", "/9j/4AAQSkZJRg=="],
      ["style", "/etc/x.png"],
    ].map(([name = "", value = ""]): [readonly Field[], unknown] => [[[name, value]], {}]),
    [[["Prompt", ""]], ["validation_failed", "Prompt"]],
    [[["INSTRUCTIONS", ""]], ["validation_failed", "INSTRUCTIONS"]],
    [
      [
        ["model", "m"],
        ["prompt", "a"],
        ["prompt", "b"],
      ],
      { model: "m" },
    ],
    [[["MODEL", ""]], ["validation_failed", "MODEL"]],
    [
      [
        ["max_tokens", "1e308"],
        ["model", "m"],
      ],
      ["validation_failed", "max_tokens"],
    ],
    [
      [
        ["max_tokens", "7"],
        ["Max_Tokens", "x"],
        ["model", "m"],
      ],
      { max_tokens: "7", model: "m" },
    ],
  ])("%#: %j", async (fields, expected) => {
    expect(await take(fields, chunkBytes)).toEqual(expected);
  });
});

it("the file that a part contains may have any name and start with any bytes", async () => {
  const head = '--b\r\nContent-Disposition: form-data; name="image"; filename="file:a.png"\r\n\r\n';
  const body = `${head}file:///x\r\n--b--\r\n`;
  const reader = new FormReader(
    sourceOf(new Request("http://x", { method: "POST", body }), 1_000),
    new FormScan("b"),
    [],
  );
  while (await reader.readMore());
  expect(reader.fields).toEqual({});
});

it.each([999, 1000, 100_000])(
  "a long field is noted by its start, in whole characters (%i bytes at a time)",
  async (chunkBytes) => {
    const long = "xü".repeat(40_000);
    const { user } = (await take([["user", long]], chunkBytes)) as { user: string };
    expect({
      isPrefix: long.startsWith(user),
      isLong: user.length > 40_000,
      isWellFormed: user.isWellFormed(),
    }).toEqual({ isPrefix: true, isLong: true, isWellFormed: true });
  },
);

it.each([1, 100_000])(
  "every field that guardrails examine is kept separately (%i bytes at a time)",
  async (chunkBytes) => {
    const fields: Field[] = [
      ["model", "m"],
      ["prompt", "one"],
      ["input", "two"],
      ["instructions", "three"],
      ["prompt", "four"],
    ];
    const reader = new FormReader(sourceOf(requestOf(fields, chunkBytes), 1_000_000), new FormScan("b"), ["model"]);
    while (await reader.readMore());
    const texts = reader.prompts.map((prompt) => new TextDecoder().decode(prompt.bytes()));
    expect(texts).toEqual(["one", "two", "three", "four"]);
  },
);

it.each([999, 100_000])("a long field is base64, or a path that rises (%i bytes at a time)", async (chunkBytes) => {
  const [base64, path] = [`/9j/${"Ab+/".repeat(40_000)}`, `/9j/${"/".repeat(80_000)}../etc/passwd`];
  expect({
    base64: await take([["image", base64]], chunkBytes),
    path: await take([["image", path]], chunkBytes),
    pathThenBase64: await take(
      [
        ["image", path],
        ["mask", base64],
      ],
      chunkBytes,
    ),
    base64AfterText: await take(
      [
        ["prompt", "A."],
        ["image", base64],
      ],
      chunkBytes,
    ),
  }).toEqual({
    base64: {},
    path: ["validation_failed", "image"],
    pathThenBase64: ["validation_failed", "image"],
    base64AfterText: {},
  });
});
