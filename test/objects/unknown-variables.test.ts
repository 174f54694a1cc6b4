/**
 * A Worker with a variable that no part reads (docs/rules/configuration.md#unknown-variables).
 *
 * @module-tag check
 */
import { createExecutionContext, env } from "cloudflare:test";
import { expect, it, vi } from "vitest";
import type { Bindings } from "../../edge/bindings.ts";

/** What an isolate answers and logs at its first two requests. */
async function firstRequests(more: Readonly<Record<string, string>>) {
  // Test files share an isolate, which keeps the parts that it has made of the first variables.
  vi.resetModules();
  const { serve } = await import("../../edge/app.ts");
  const lines: string[] = [];
  const written = vi.spyOn(console, "log").mockImplementation((line: string) => void lines.push(line));
  try {
    const bindings = { ...(env as unknown as Bindings), GATEWAY_MAX_BODY_BYTE: "planted", ...more };
    const statuses: number[] = [];
    for (let count = 0; count < 2; count += 1) {
      const request = new Request("http://gateway.test/v1/models");
      const response = await serve(request, bindings, createExecutionContext());
      await response.text();
      statuses.push(response.status);
    }
    const events = lines.map((line) => JSON.parse(line) as Readonly<Record<string, unknown>>);
    return { statuses, events: events.filter(({ event }) => event !== "request"), text: lines.join("\n") };
  } finally {
    written.mockRestore();
  }
}

it("warns once of the variable and serves", async () => {
  const { statuses, events, text } = await firstRequests({});
  expect({ statuses, events }).toEqual({
    statuses: [401, 401],
    events: [
      expect.objectContaining({
        level: 40,
        event: "variable_unknown",
        variable: "GATEWAY_MAX_BODY_BYTE",
        nearest: "GATEWAY_MAX_BODY_BYTES",
      }),
    ],
  });
  expect(text).not.toContain("planted");
});

it("serves nothing if GATEWAY_STRICT_ENV is on", async () => {
  const { statuses, events } = await firstRequests({ GATEWAY_STRICT_ENV: "1" });
  expect(statuses).toEqual([500, 500]);
  expect(events[0]).toMatchObject({
    event: "configuration_invalid",
    reason: "GATEWAY_MAX_BODY_BYTE is no variable of the gateway: did you mean GATEWAY_MAX_BODY_BYTES?",
  });
});
