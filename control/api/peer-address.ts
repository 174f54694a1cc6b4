/** The address of whoever sends a request. */
import { getConnInfo } from "@hono/node-server/conninfo";
import type { Context } from "hono";

/** The address of the connection's peer, null without a connection. A header could contain any address, so none is read. */
export function peerAddress(c: Context): string | null {
  try {
    return getConnInfo(c).remote.address?.replace(/^::ffff:(?=\d+\.)/, "") ?? null;
  } catch {
    return null; // not served over a connection
  }
}
