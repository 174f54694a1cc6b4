/**
 * Upstream calls over the platform's fetch. Redirects are never followed: an address that was checked when it was saved
 * must not redirect to one that was not (docs/rules/network-safety.md#address-policy). Where the platform has a
 * separate network for registered addresses, they are reached through that network only.
 */
import type { Upstream } from "../ports.ts";

/** `registered`: the network for addresses that an admin registered; undefined: they have no separate network. */
export function upstreamHttp(registered: Fetcher | undefined): Upstream {
  return {
    async fetch({ url, method, headers, body, signal, trusted }) {
      const send: Fetcher["fetch"] = trusted || registered === undefined ? fetch : registered.fetch.bind(registered);
      const init = { headers, signal, redirect: "manual" } as const;
      // With its method named again, a GET with a body would be refused.
      if (body instanceof Request) return await send(new Request(url, body), init);
      return await send(url, { ...init, method, body });
    },
  };
}
