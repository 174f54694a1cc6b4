/**
 * Texts of a client that a store could not keep unchanged: half a character, a name of any length
 * (docs/rules/settlement-and-rows.md#model-names, docs/rules/routes.md#session-id).
 *
 * @module-tag check
 */
import { describe, expect, it } from "vitest";
import { useGateway } from "../harness/fixture.ts";

const fixture = useGateway();

/**
 * A row that the store refused would delay every row behind it. This row must arrive, with nothing in place of the half
 * character.
 */
describe("half a character", () => {
  it.each([
    ["stands alone in a model's name", { model: "\ud800" }, { model: "", status_code: 404 }],
    ["is where a model's name is cut", { model: `${"x".repeat(199)}🙂` }, { model: "", status_code: 404 }],
    ["is where a session is cut", { user: `${"x".repeat(199)}🙂` }, { session_id: "x".repeat(199) }],
    ["stands alone in a session", { user: "\ud800", session_id: "a\udc00" }, { session_id_source: "derived" }],
  ])("%s: the row arrives", async (_, body, row) => {
    const minted = await fixture.gateway.mint(fixture.upstream.url);
    const response = await fixture.gateway.chat(minted, { body });
    await response.text();
    const requestId = response.headers.get("x-gateway-request-id");
    expect(await fixture.gateway.row(minted.tenant.id, requestId)).toMatchObject(row);
  });
});

it("a model's name that is long in a long body is reported as the client wrote it", async () => {
  const minted = await fixture.gateway.mint(fixture.upstream.url);
  const response = await fixture.gateway.chat(minted, {
    body: { model: "q".repeat(100_000), messages: [{ role: "user", content: "z".repeat(300_000) }] },
  });
  expect({ status: response.status, body: await response.json() }).toMatchObject({
    status: 404,
    body: { error: { message: `model '${"q".repeat(200)}' is not registered` } },
  });
});
