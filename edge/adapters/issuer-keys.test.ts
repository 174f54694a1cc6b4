import type { JSONWebKeySet } from "jose";
import { beforeEach, describe, expect, it } from "vitest";
import type { JwtIssuer } from "../../shared/access/jwt-issuers.ts";
import type { Issue } from "../../shared/alerts.ts";
import { eventsOf, type MetricEvent } from "../domain/cell/event-counters.ts";
import { IssuerKeys, KeysUnreadable } from "./issuer-keys.ts";

const MINUTE_MS = 60_000;
const issuer = { issuer: "https://id.example", jwks_url: "https://id.example/keys" } as JwtIssuer;

let nowMs: number;
let loads: string[];
let load: () => Promise<JSONWebKeySet>;
let raised: Issue[];
let counted: MetricEvent[];
let keys: IssuerKeys;

beforeEach(() => {
  nowMs = 1_000_000;
  loads = [];
  load = async () => ({ keys: [] });
  raised = [];
  counted = [];
  keys = new IssuerKeys({
    index: 3,
    issuer,
    load: async (url) => {
      loads.push(url);
      return await load();
    },
    clock: () => nowMs,
    keepAlive: () => undefined,
    alerts: { raise: (issue) => void raised.push(issue) },
    events: { count: (event) => void counted.push(...eventsOf(event)) },
  });
});

const fail = async (): Promise<never> => {
  throw new KeysUnreadable("answered 500");
};

describe("the keys of a provider", () => {
  it("are read once and used for 15 minutes", async () => {
    const first = await keys.current();
    expect(first).not.toBeNull();
    nowMs += 15 * MINUTE_MS - 1;
    expect(await keys.current()).toBe(first);
    nowMs += 1;
    expect(await keys.current()).not.toBe(first);
    expect(loads).toEqual([issuer.jwks_url, issuer.jwks_url]);
    expect(counted.map(({ labels }) => labels)).toEqual([
      ["3", "ok"],
      ["3", "ok"],
    ]);
  });

  it("stay in use while the provider fails, which is called once a minute", async () => {
    const good = await keys.current();
    load = fail;
    nowMs += 15 * MINUTE_MS;
    for (let at = 0; at < 3; at += 1) {
      expect(await keys.current()).toBe(good);
      nowMs += MINUTE_MS - 1;
      expect(await keys.current()).toBe(good);
      nowMs += 1;
    }
    expect(loads).toHaveLength(4);
    expect(raised[0]).toEqual({
      issueKey: "jwks_fetch_failed:3",
      title: "Identity keys not refreshed",
      detail: "https://id.example: answered 500",
    });
    load = async () => ({ keys: [] });
    expect(await keys.current()).not.toBe(good);
  });

  it("are absent until they were read, which is tried once a second", async () => {
    load = fail;
    expect(await keys.current()).toBeNull();
    expect(await keys.current()).toBeNull();
    expect(loads).toHaveLength(1);
    nowMs += 1000;
    load = async () => ({ keys: [] });
    expect(await keys.current()).not.toBeNull();
    expect(loads).toHaveLength(2);
  });

  it("are read again for an unknown key, once a minute, even right after a regular read", async () => {
    await keys.current();
    expect(await keys.refresh()).toBe(true);
    expect(await keys.refresh()).toBe(false);
    nowMs += MINUTE_MS - 1;
    expect(await keys.refresh()).toBe(false);
    nowMs += 1;
    expect(await keys.refresh()).toBe(true);
    expect(loads).toHaveLength(3);
  });

  it("are read once, however many requests wait for them", async () => {
    const gate = Promise.withResolvers<JSONWebKeySet>();
    load = async () => await gate.promise;
    const waiting = [keys.current(), keys.current(), keys.refresh(), keys.refresh()];
    gate.resolve({ keys: [] });
    const [one, two, ...renewed] = await Promise.all(waiting);
    expect({ isShared: one === two, isKeySet: one !== null, renewed }).toEqual({
      isShared: true,
      isKeySet: true,
      renewed: [true, true],
    });
    expect(loads).toHaveLength(1);
  });

  it("that are not a key set are a failure, reported in the gateway's own words", async () => {
    for (const answer of [null, {}, { keys: "secret" }, { keys: [5] }]) {
      load = async () => answer as unknown as JSONWebKeySet;
      nowMs += 1000;
      expect(await keys.current()).toBeNull();
    }
    expect(new Set(raised.map(({ detail }) => detail))).toEqual(new Set(["https://id.example: not a key set"]));
  });
});
