/**
 * An isolate that read a record a moment before it was changed: the Cell knows better, before and after a reset of its
 * own, and while the store has not heard yet nobody is served by the old copy (design §5, decisions §32.4).
 */
import { describe, expect, it } from "vitest";
import type { Change } from "../../shared/internal.ts";
import type { ResolvedKey, ResolvedTenant } from "../../shared/records.ts";
import { CrashScene } from "./crash-scene.ts";

interface Changed {
  readonly what: string;
  /** What the store holds afterwards. */
  readonly key: (before: ResolvedKey) => ResolvedKey;
  readonly change: (before: ResolvedKey, tenant: ResolvedTenant) => Change;
}

const changes: readonly Changed[] = [
  {
    what: "key was disabled",
    key: (before) => ({ ...before, rev: 2, disabled: true }),
    change: (before) => ({ kind: "key", id: before.key_hash, rev: 2 }),
  },
  {
    what: "tenant was suspended",
    key: (before) => ({ ...before, tenant: { ...tenantOf(before), rev: 2, status: "suspended" } }),
    change: (_, tenant) => ({ kind: "tenant", id: tenant.id, rev: 2 }),
  },
  {
    what: "tenant was moved to another group and suspended",
    key: (before) => ({ ...before, tenant: { ...tenantOf(before), group_rev: 2, status: "suspended" } }),
    change: (_, tenant) => ({ kind: "group", id: tenant.fairshare_group, rev: 2 }),
  },
];

function tenantOf(key: ResolvedKey): ResolvedTenant {
  if (key.tenant === null) throw new Error("the key of a scene has a tenant");
  return key.tenant;
}

/** A scene whose isolate holds a copy that the Cell has just heard is old. */
async function outdated({ change }: Changed): Promise<{ readonly scene: CrashScene; readonly before: ResolvedKey }> {
  const scene = await CrashScene.open();
  const before = scene.world.key;
  if (before === null) throw new Error("a scene has a key");
  scene.world.keyInMemory = before;
  await scene.stub.invalidate([change(before, tenantOf(before))]);
  return { scene, before };
}

describe.each(changes.map((changed) => [changed.what, changed] as const))("a copy from before its %s", (_, changed) => {
  it.each([false, true])("is not served by; the Cell was reset since: %j", async (reset) => {
    const { scene, before } = await outdated(changed);
    scene.world.key = changed.key(before);
    if (reset) await scene.reset();
    expect(await scene.run()).toBe(403);
    expect(scene.world.upstreamCalls).toEqual([]);
  });

  it("is not served by while the store still holds it", async () => {
    const { scene } = await outdated(changed);
    expect(await scene.run()).toBe(503);
    expect(scene.world.upstreamCalls).toEqual([]);
  });
});
