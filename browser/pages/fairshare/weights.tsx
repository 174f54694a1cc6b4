import { type FormEvent, type ReactNode, useState } from "react";
import type { FairshareLive } from "../../../shared/schema/load.ts";
import { type WhatIf, whatIf } from "../../explain/what-if.ts";
import { type ListColumn, useListView } from "../../forms/list/use-list-view.tsx";
import { fairshareTexts } from "../../messages/en/fairshare.ts";
import { fieldTexts } from "../../messages/en/fields.ts";
import { texts } from "../../messages/texts.ts";
import { Button } from "../../ui/button.tsx";
import { formatCount, formatShare } from "../../ui/format.ts";
import { Row } from "../../ui/layout.tsx";
import { Empty, Notice } from "../../ui/states.tsx";
import { Table } from "../../ui/table.tsx";
import classes from "./fairshare-page.module.css";
import { useWeightWrites } from "./use-weight-writes.ts";
import {
  editsOf,
  type TypedWeights,
  type WeightChange,
  type WeightOwner,
  weightChanges,
  weightKey,
  weightOf,
  weightOwners,
  withAcknowledged,
  withTyped,
} from "./weight-edits.ts";

const text = texts("fairshare", fairshareTexts);
const fieldText = texts("fields", fieldTexts);

type Answer = Extract<WhatIf, { readonly kind: "answer" }>;
/** A group or a tenant, with what it has now and what the typed weights would give it. */
type Member = WeightOwner & Pick<Answer["groups"][number], "inFlight" | "queued" | "before" | "after">;

const NO_EDITS = { groupWeights: new Map<string, number>(), tenantWeights: new Map<string, number>() };

/** Weights of groups and of who competes, and what other weights would give each of them before they are set. */
export function Weights({
  live,
  groups,
  typed,
  onTyped,
}: {
  readonly live: FairshareLive;
  readonly groups: readonly { readonly name: string; readonly weight: number }[];
  readonly typed: TypedWeights;
  readonly onTyped: (change: (typed: TypedWeights) => TypedWeights) => void;
}) {
  const { setWeights, isBusy } = useWeightWrites();
  const [refusals, setRefusals] = useState<ReadonlyMap<string, string>>(new Map());
  const changes = weightChanges(typed, weightOwners(live, groups));
  const answer = answerOf(whatIf(live, groups, editsOf(changes)), live, groups);
  const isInvalid = [...typed.values()].some((one) => weightOf(one.text) === null);
  const apply = async (event: FormEvent): Promise<void> => {
    event.preventDefault();
    if (changes.length === 0 || isInvalid) return;
    const changedByOthers = changes.filter(({ weight, base }) => weight !== base);
    if (changedByOthers.length > 0) {
      const told = ({ base: before, weight: now }: WeightChange): string => fieldText("meanwhile", { before, now });
      setRefusals(new Map(changedByOthers.map((change) => [weightKey(change), `${change.name}: ${told(change)}`])));
      return onTyped((now) => withAcknowledged(now, changedByOthers));
    }
    const sent = typed;
    const refused = await setWeights(changes);
    setRefusals(refused);
    onTyped((now) => new Map([...now].filter(([key, one]) => refused.has(key) || sent.get(key)?.text !== one.text)));
  };
  const type = (owner: WeightOwner, one: string): void => onTyped((now) => withTyped(now, owner, one));
  const columns = (head: string): readonly ListColumn<Member>[] => [
    {
      id: "name",
      head,
      isWide: true,
      sortBy: ({ name }) => name,
      cell: ({ name }) => <bdi title={name}>{name}</bdi>,
    },
    {
      id: "weight",
      head: text("weight"),
      align: "right",
      sortBy: savedWeight,
      cell: (member) => <WeightField owner={member} typed={typed} refusals={refusals} onType={type} />,
    },
    {
      id: "inFlight",
      head: text("inFlight"),
      align: "right",
      sortBy: inFlightOf,
      cell: ({ inFlight }) => formatCount(inFlight),
    },
    { id: "queued", head: text("queued"), align: "right", sortBy: queuedOf, cell: ({ queued }) => formatCount(queued) },
    {
      id: "share",
      head: text("share"),
      align: "right",
      sortBy: shareOf,
      cell: ({ before, after }) => (
        <Becomes before={formatShare(before.weightShare)} after={formatShare(after.weightShare)} />
      ),
    },
    ...(live.algorithm === "weighted"
      ? []
      : [
          {
            id: "entitled",
            head: text("entitled"),
            align: "right" as const,
            sortBy: entitledOf,
            cell: ({ before, after }: Member) => <Becomes before={slotsOf(before)} after={slotsOf(after)} />,
          },
        ]),
  ];
  const members = {
    groups: answer.groups.map((group): Member => ({ ...group, kind: "group", id: group.name })),
    tenants: answer.tenants.map((tenant): Member => ({ ...tenant, kind: "tenant", id: tenant.tenantId })),
  };
  return (
    <form className={classes["weights"]} onSubmit={(event) => void apply(event)} noValidate>
      <div className={classes["weightsHead"]}>
        <p>{text(live.algorithm === "weighted" ? "weightsWeighted" : "weightsNote")}</p>
        {typed.size > 0 && (
          <Row isEnd>
            <Button onClick={() => onTyped(() => new Map())}>{text("discard")}</Button>
            <Button writes type="submit" tone="primary" isBusy={isBusy} disabled={changes.length === 0 || isInvalid}>
              {text("apply", { count: changes.length })}
            </Button>
          </Row>
        )}
      </div>
      {refusals.size > 0 && <Notice tone="bad">{[...new Set(refusals.values())].join(" · ")}</Notice>}
      <Members
        kind="groups"
        columns={columns(text("group"))}
        members={members.groups}
        empty={<Empty title={text("noGroups")} />}
      />
      <Members
        kind="tenants"
        columns={columns(text("tenant"))}
        members={members.tenants}
        empty={<Empty title={text("noTenants")}>{text("tenantsNote")}</Empty>}
      />
    </form>
  );
}

const savedWeight = ({ weight }: Member): number => weight;
const inFlightOf = ({ inFlight }: Member): number => inFlight;
const queuedOf = ({ queued }: Member): number => queued;
const shareOf = ({ before }: Member): number => before.weightShare;
const entitledOf = ({ before }: Member): number | null => (before.weightShare > 0 ? before.slotCap : null);

/** The groups, or who competes; in the order of what is in force, so that no row moves while a weight is typed. */
function Members({
  kind,
  columns,
  members,
  empty,
}: {
  readonly kind: "groups" | "tenants";
  readonly columns: readonly ListColumn<Member>[];
  readonly members: readonly Member[];
  readonly empty: ReactNode;
}) {
  const label = text(kind);
  const { choice, ...view } = useListView({
    rows: members,
    columns,
    prefix: `${kind}_`,
    label,
    file: kind === "groups" ? "groups" : "shares",
  });
  return (
    <>
      <div className={classes["weightsHead"]}>
        <h3>{label}</h3>
        <Row>{choice}</Row>
      </div>
      <Table label={label} {...view} rows={view.rows ?? members} rowKey={weightKey} empty={empty} />
    </>
  );
}

/** Whole slots; who asks for nothing is entitled to none, which is not the same as one. */
function slotsOf({ weightShare, slotCap }: Member["before"]): string {
  return formatCount(weightShare > 0 ? slotCap : null);
}

/** The answer; what cannot be asked is answered as if nothing had been typed. */
function answerOf(
  asked: WhatIf,
  live: FairshareLive,
  groups: readonly { readonly name: string; readonly weight: number }[],
): Pick<Answer, "groups" | "tenants"> {
  if (asked.kind === "answer") return asked;
  const plain = whatIf(live, groups, NO_EDITS);
  return plain.kind === "answer" ? plain : { groups: [], tenants: [] };
}

function WeightField({
  owner,
  typed,
  refusals,
  onType,
}: {
  readonly owner: WeightOwner;
  readonly typed: TypedWeights;
  readonly refusals: ReadonlyMap<string, string>;
  readonly onType: (owner: WeightOwner, text: string) => void;
}) {
  const shown = typed.get(weightKey(owner))?.text ?? String(owner.weight);
  const problem = weightOf(shown) === null ? text("weightInvalid") : refusals.get(weightKey(owner));
  return (
    <input
      className={classes["weight"]}
      inputMode="numeric"
      autoComplete="off"
      aria-label={text("weightOf", { name: owner.name })}
      aria-invalid={problem === undefined ? undefined : true}
      title={problem}
      value={shown}
      onChange={(event) => onType(owner, event.target.value)}
    />
  );
}

/** A value, and the one that it would become where that is another. */
function Becomes({ before, after }: { readonly before: string; readonly after: string }) {
  if (before === after) return before;
  return (
    <>
      <span aria-hidden>
        {before} → <strong className={classes["after"]}>{after}</strong>
      </span>
      <span className={classes["read"]}>{text("becomesRead", { before, after })}</span>
    </>
  );
}
