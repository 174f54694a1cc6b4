/** What anybody may ask for without a token is written and compressed once (docs/rules/management-api.md#public-routes). */
import { gunzipSync } from "node:zlib";
import { afterAll, beforeAll, expect, it } from "vitest";
import { startControl, type TestControl } from "../../test/harness/control.ts";

let control: TestControl;
beforeAll(async () => {
  control = await startControl();
});
afterAll(async () => {
  await control.close();
});

it.each(["/api/v1/openapi.json", "/docs/swagger-ui-bundle.js", "/docs/swagger-ui.css"])(
  "%s is sent compressed to who takes that, and not again to who has it",
  async (path) => {
    const plain = await control.app.request(path);
    const etag = plain.headers.get("etag") ?? "";
    const packed = await control.app.request(path, { headers: { "accept-encoding": "gzip" } });
    const known = await control.app.request(path, { headers: { "if-none-match": `"x", ${etag}` } });
    const other = await control.app.request(path, { headers: { "if-none-match": '"x"' } });
    const [text, unpacked] = [await plain.text(), gunzipSync(await packed.arrayBuffer()).toString()];
    expect({
      same: unpacked === text && text.length > 1000,
      coding: packed.headers.get("content-encoding"),
      etag,
      known: [known.status, await known.text(), known.headers.get("etag")],
      other: other.status,
    }).toEqual({
      same: true,
      coding: "gzip",
      etag: expect.stringMatching(/^W\/"/),
      known: [304, "", etag],
      other: 200,
    });
  },
);
