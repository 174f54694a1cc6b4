/** The address of the sender of a request. */
import { getConnInfo } from "@hono/node-server/conninfo";
import type { Context } from "hono";
import type { TrustedProxies } from "../kernel/trusted-proxies.ts";

/**
 * The client's address: the connection's peer, or who came through the proxies that the operator listed. Null without a
 * connection. Headers of everybody else could contain any address, so they are not read.
 */
export function clientAddress(c: Context, proxies: TrustedProxies): string | null {
  const peer = peerOf(c);
  return peer === null ? null : proxies.clientOf(peer, c.req.header("x-forwarded-for"));
}

/** The other end of the connection, without the zone that a link-local address may have; null without a connection. */
export function peerOf(c: Context): string | null {
  try {
    return getConnInfo(c).remote.address?.replace(/%.*/s, "") ?? null;
  } catch {
    return null; // not served over a connection
  }
}
