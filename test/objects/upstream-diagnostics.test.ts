/**
 * The check of a failed upstream's address, inside the runtime: names and ports
 * (docs/rules/upstream-calls.md#diagnostics).
 */
import { describe, expect, it } from "vitest";
import { UpstreamDiagnostics } from "../../edge/adapters/upstream-diagnostics.ts";
import { NAMES } from "./resolver-sink.ts";

const diagnostics = new UpstreamDiagnostics(Date.now, undefined);

describe("an address where no server listens", () => {
  it.each([
    [`http://${NAMES.known}/v1`, true, ["192.0.2.7", "2001:db8::7"], "no connection"],
    [`https://${NAMES.unknown}:8443/v1`, false, [], "the name does not resolve publicly"],
    [`http://${NAMES.away}/v1`, null, [], "no connection, and the public resolver could not be asked"],
    ["http://127.0.0.1:9/v1", true, ["127.0.0.1"], "no connection"],
    ["http://[::1]:9/v1", true, ["[::1]"], "no connection"],
  ])("%s", async (url, dnsOk, addresses, error) => {
    const { elapsedMs, ...found } = await diagnostics.check(url);
    expect(found).toEqual({ dnsOk, addresses, portOpen: false, error });
    expect(elapsedMs).toBeGreaterThanOrEqual(0);
  });
});
