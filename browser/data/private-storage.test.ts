import { expect, it, vi } from "vitest";
import { forgetPrivate, readPrivate, writePrivate } from "./private-storage.ts";

/** The storage of a tab that has room for this many characters. */
function storageOf(maxLength: number): Pick<Storage, "getItem" | "setItem" | "removeItem"> {
  const stored = new Map<string, string>();
  return {
    getItem: (name) => stored.get(name) ?? null,
    setItem: (name, text) => {
      if (text.length > maxLength) throw new DOMException("full", "QuotaExceededError");
      stored.set(name, text);
    },
    removeItem: (name) => void stored.delete(name),
  };
}

it("returns a person's key until it is forgotten or empty", () => {
  vi.stubGlobal("sessionStorage", storageOf(100));
  writePrivate("ann", "key one");
  expect(readPrivate("ann")).toBe("key one");
  writePrivate("ann", "");
  expect(readPrivate("ann")).toBe("");
  writePrivate("ann", "key two");
  forgetPrivate();
  expect(readPrivate("ann")).toBe("");
});

it("removes another person's key", () => {
  vi.stubGlobal("sessionStorage", storageOf(100));
  writePrivate("ann", "key");
  expect({ bob: readPrivate("bob"), ann: readPrivate("ann") }).toEqual({ bob: "", ann: "" });
});

it("does not keep an earlier key when the storage has no room for the next one", () => {
  vi.stubGlobal("sessionStorage", storageOf(10));
  writePrivate("ann", "key");
  writePrivate("ann", "longer key");
  expect(readPrivate("ann")).toBe("");
});

it("keeps nothing where storage is switched off", () => {
  const refuse = (): never => {
    throw new DOMException("off", "SecurityError");
  };
  vi.stubGlobal("sessionStorage", { getItem: refuse, setItem: refuse, removeItem: refuse });
  writePrivate("ann", "key");
  forgetPrivate();
  expect(readPrivate("ann")).toBe("");
});
