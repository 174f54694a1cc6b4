/**
 * An isolate that read a record a moment before the record was changed: the Cell knows the newer revision, before and
 * after a reset of the Cell, and no request is served by the old copy while the store does not have the change yet
 * (docs/rules/freshness.md#revisions).
 */
import { describe, expect, it } from "vitest";
import type { ResolvedKey, ResolvedTenant } from "../../shared/records.ts";
import type { Change } from "../../shared/wire/internal.ts";
import { CrashScene } from "./crash-scene.ts";

interface Changed {
  readonly what: string;
  /** The key as the store has it after the change. */
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

/** A scene whose isolate has a copy that is older than the change that the Cell has just received. */
async function outdated({ change }: Changed): Promise<{ readonly scene: CrashScene; readonly before: ResolvedKey }> {
  const scene = await CrashScene.open();
  const before = scene.world.key;
  if (before === null) throw new Error("a scene has a key");
  scene.world.keyInMemory = before;
  await scene.stub.invalidate([change(before, tenantOf(before))]);
  return { scene, before };
}

describe.each(changes.map((changed) => [changed.what, changed] as const))("a copy from before its %s", (_, changed) => {
  it.each([false, true])("is not used to serve a request; the Cell was reset since: %j", async (reset) => {
    const { scene, before } = await outdated(changed);
    scene.world.key = changed.key(before);
    if (reset) await scene.reset();
    expect(await scene.run()).toBe(403);
    expect(scene.world.upstreamCalls).toEqual([]);
  });

  it("is not used to serve a request while the store still holds it", async () => {
    const { scene } = await outdated(changed);
    expect(await scene.run()).toBe(503);
    expect(scene.world.upstreamCalls).toEqual([]);
  });
});
