/** Rotation of a key's secret, and its end, for who uses it (docs/rules/keys.md#rotation, docs/rules/keys.md#expiry). */
import { expect, it } from "vitest";
import type { CreatedKey } from "../../shared/schema/api-key.ts";
import { useGateway } from "../harness/fixture.ts";
import { waitFor } from "../harness/wait-for.ts";

const fixture = useGateway();

it("serves the secret before a rotation until its grace ends by the clock", async () => {
  const { gateway, upstream } = fixture;
  const minted = await gateway.mint(upstream.url);
  const ask = async (secret: string): Promise<[number, string | undefined, string | null]> => {
    const response = await gateway.chat({ ...minted, secret });
    const { error } = (await response.json()) as { error?: { code: string } };
    return [response.status, error?.code, response.headers.get("x-gateway-request-id")];
  };
  expect((await ask(minted.secret))[0]).toBe(200);
  const rotated = await gateway.must<CreatedKey>("POST", `/keys/${minted.key.id}/rotate`, { grace_secs: 1 });
  const [status, , requestId] = await ask(rotated.secret);
  expect(status).toBe(200);
  expect(await gateway.row(minted.tenant.id, requestId)).toMatchObject({ key_id: minted.key.id });
  await waitFor(
    async () => await ask(minted.secret),
    ([old, code]) => old === 401 && code === "invalid_api_key",
  );
  expect(Date.now()).toBeGreaterThanOrEqual(Date.parse(rotated.key.previous_secret_until ?? ""));
  expect((await ask(rotated.secret))[0]).toBe(200);
});

it("refuses a key from its end on, by the clock, without any further change", async () => {
  const { gateway, upstream } = fixture;
  const minted = await gateway.mint(upstream.url);
  const endMs = Date.now() + 1000;
  await gateway.must("PUT", `/keys/${minted.key.id}`, { expires_at: new Date(endMs).toISOString() });
  const ask = async (): Promise<string> => {
    const response = await gateway.chat(minted);
    const { error } = (await response.json()) as { error?: { code: string; message: string } };
    return `${response.status} ${error?.code ?? ""} ${error?.message ?? ""}`;
  };
  const refused = await waitFor(ask, (line) => line.startsWith("403"));
  expect(refused).toBe("403 api_key_expired api key expired");
  expect(Date.now()).toBeGreaterThanOrEqual(endMs);
  await gateway.must("PUT", `/keys/${minted.key.id}`, { expires_at: null });
  expect(await ask()).toBe("200  ");
});
