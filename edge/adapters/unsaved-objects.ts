/**
 * Objects of upstreams that the key-value store has not taken yet, by tenant, with limited memory. Additions of a tenant above
 * its part are left out, so they take no other tenant's room.
 */
import { LIMITS } from "../../shared/catalogues/limits.ts";
import type { ObjectPlace } from "../ports.ts";

/** Of one object, in addition to the texts of its place: its digest and the maps' own memory. */
const ENTRY_BYTES = 256;

/** Places by the digests of ids. */
export type Places = ReadonlyMap<string, ObjectPlace>;

export class UnsavedObjects {
  readonly #places = new Map<string, Map<string, ObjectPlace>>();
  readonly #bytes = new Map<string, number>();
  #allBytes = 0;

  get isEmpty(): boolean {
    return this.#places.size === 0;
  }

  place(tenantId: string, digest: string): ObjectPlace | undefined {
    return this.#places.get(tenantId)?.get(digest);
  }

  /** Whether some tenant was given the object. */
  has(digest: string): boolean {
    return [...this.#places.values()].some((places) => places.has(digest));
  }

  /** Adds what there is room for, in place of older ones of the same objects; returns how many were left out. */
  add(tenantId: string, places: Places): number {
    let leftOut = 0;
    for (const [digest, place] of places) {
      this.#drop(tenantId, digest);
      const bytes = (this.#bytes.get(tenantId) ?? 0) + bytesOf(place);
      if (bytes > LIMITS.tenantUnsavedObjects || this.#allBytes + bytesOf(place) > LIMITS.unsavedObjects) {
        leftOut += 1;
        continue;
      }
      const own = this.#places.get(tenantId) ?? new Map<string, ObjectPlace>();
      this.#places.set(tenantId, own.set(digest, place));
      this.#bytes.set(tenantId, bytes);
      this.#allBytes += bytesOf(place);
    }
    return leftOut;
  }

  /** At most `most` objects of one tenant, taken from each in turn; null if there are none. */
  next(most: number): { readonly tenantId: string; readonly places: Places } | null {
    for (const [tenantId, places] of this.#places) {
      this.#places.delete(tenantId);
      this.#places.set(tenantId, places);
      return { tenantId, places: new Map([...places].slice(0, most)) };
    }
    return null;
  }

  /** Removes what has been saved, unless it has a new place by now. */
  saved(tenantId: string, places: Places): void {
    for (const [digest, place] of places) if (this.place(tenantId, digest) === place) this.#drop(tenantId, digest);
  }

  #drop(tenantId: string, digest: string): void {
    const places = this.#places.get(tenantId);
    const place = places?.get(digest);
    if (places === undefined || place === undefined) return;
    places.delete(digest);
    this.#allBytes -= bytesOf(place);
    this.#bytes.set(tenantId, (this.#bytes.get(tenantId) ?? 0) - bytesOf(place));
    if (places.size > 0) return;
    this.#places.delete(tenantId);
    this.#bytes.delete(tenantId);
  }
}

function bytesOf({ upstream, model, charged }: ObjectPlace): number {
  return ENTRY_BYTES + 2 * (upstream.length + model.length + (charged?.endUser.length ?? 0));
}
