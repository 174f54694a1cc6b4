/**
 * Which instance owns an object, by the records of the runtime in the bucket: `do/<namespace>/<id>/own.json` names a node, and
 * `nodes/<node>.json` its address. They are the runtime's own and belong to the version that package.json pins.
 */
import { createHash, createHmac } from "node:crypto";

/** The id that the runtime gives to the object with this name in the namespace with this key. */
export function idFromName(uniqueKey: string, name: string): string {
  const key = createHash("sha256").update(uniqueKey).digest();
  const half = (content: Buffer | string): Buffer => createHmac("sha256", key).update(content).digest().subarray(0, 16);
  const base = half(name);
  return Buffer.concat([base, half(base)]).toString("hex");
}

/**
 * The address of the instance that owns the Cell `local` now; null: none has claimed it yet. `read` returns the content of the
 * first object of the bucket whose key ends like this.
 */
export function cellOwner(read: (end: string) => string | null): string | null {
  const claim = read(`/${idFromName("gateway-Cell", "local")}/own.json`);
  if (claim === null) return null;
  const { node } = JSON.parse(claim) as { readonly node: string };
  const record = read(`/nodes/${node}.json`);
  return record === null ? null : (JSON.parse(record) as { readonly address: string }).address;
}
