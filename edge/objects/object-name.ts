/**
 * The name of a Durable Object. The runtime does not always know it: an object that is made for its alarm, as after a
 * restart or on another machine of a cluster, may have an id without a name. Therefore its storage keeps the name.
 */
const KEY = "name";

/** The object's name; `unnamed`, by default the text of its id, until somebody has reached it by a name. */
export function objectName({ id, storage }: DurableObjectState, unnamed = id.toString()): string {
  const stored = storage.kv.get<string>(KEY);
  if (id.name === undefined) return stored ?? unnamed;
  if (stored !== id.name) storage.kv.put(KEY, id.name);
  return id.name;
}
