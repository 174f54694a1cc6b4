import { useEffect, useState } from "react";
import type { FairshareLive, WaitingQueue } from "../../../shared/schema/load.ts";
import { explainWaiting } from "../../explain/explain-waiting.ts";
import { pageTarget, tenantTarget } from "../../explain/link-target.ts";
import { TargetLink } from "../../links/target-link.tsx";
import { fairshareTexts } from "../../messages/en/fairshare.ts";
import { texts } from "../../messages/texts.ts";
import { Button } from "../../ui/button.tsx";
import { Dialog } from "../../ui/dialog.tsx";
import { formatCount, formatMs } from "../../ui/format.ts";
import { Facts, Row } from "../../ui/layout.tsx";
import { Notice } from "../../ui/states.tsx";
import classes from "./fairshare-page.module.css";
import { CellSlots, LimitOf } from "./limits.tsx";
import { OPEN_CAPACITY, queueId, queueNamed } from "./queues.ts";

const text = texts("fairshare", fairshareTexts);

/** The limit whose change helps a queue. */
type Helps = (queue: WaitingQueue) => WaitingQueue["reason"];

/** What the address has open over the page: a queue with the limit that binds it, or the slots of the cell. */
export function OpenedDialog({
  open,
  live,
  cell,
  helps,
  onClose,
}: {
  readonly open: string;
  readonly live: FairshareLive;
  readonly cell: string | null;
  readonly helps: Helps;
  readonly onClose: () => void;
}) {
  if (open === OPEN_CAPACITY)
    return (
      <Dialog isOpen onClose={onClose} title={text("changeCapacity")}>
        <CellSlots live={live} onDone={onClose} />
      </Dialog>
    );
  return <QueueDialog key={open} id={open} live={live} cell={cell} helps={helps} onClose={onClose} />;
}

function QueueDialog({
  id,
  live,
  cell,
  helps,
  onClose,
}: {
  readonly id: string;
  readonly live: FairshareLive;
  readonly cell: string | null;
  readonly helps: Helps;
  readonly onClose: () => void;
}) {
  const named = queueNamed(id);
  const now = live.waiting.find((queue) => queueId(queue) === id);
  const [last, setLast] = useState(now);
  useEffect(() => {
    if (now !== undefined) setLast(now);
  }, [now]);
  if (named === null) return null;
  const queue = now ?? last;
  return (
    <Dialog isOpen onClose={onClose} title={queue === undefined ? named.model : text("queueOf", queue)} place="side">
      {now === undefined && (
        <Notice tone="good">
          <strong>{text("queueGone")}.</strong> {text("queueGoneText")}
        </Notice>
      )}
      {queue !== undefined && <Held queue={queue} isHeld={now !== undefined} live={live} cell={cell} helps={helps} />}
      <Row>
        <TargetLink target={tenantTarget(named.tenantId, "overview")} isButton>
          {text("tenantPage", { tenant: queue?.tenant ?? "" })}
        </TargetLink>
        <TargetLink target={pageTarget("/logs", { model: named.model, tenant_id: named.tenantId })} isButton>
          {text("requestsOf")}
        </TargetLink>
      </Row>
    </Dialog>
  );
}

/** The limit that bound the queue when it was opened stays, with what was typed, while others come to bind it. */
function Held({
  queue,
  isHeld,
  live,
  cell,
  helps,
}: {
  readonly queue: WaitingQueue;
  readonly isHeld: boolean;
  readonly live: FairshareLive;
  readonly cell: string | null;
  readonly helps: Helps;
}) {
  const [reason, setReason] = useState(queue.reason);
  const [limit, setLimit] = useState(() => helps(queue));
  const { sentence } = explainWaiting({ ...queue, reason });
  const helped = { ...queue, reason: limit };
  const tenant = live.tenants.find(({ tenant_id }) => tenant_id === queue.tenant_id);
  const ofCap = (count: number | undefined, cap: number | null | undefined): string =>
    cap === null || cap === undefined
      ? formatCount(count)
      : text("ofCap", { count: formatCount(count), cap: formatCount(cap) });
  return (
    <>
      {isHeld && <p>{sentence}</p>}
      {isHeld && reason !== queue.reason && (
        <Notice tone="warn">
          {text("otherReason", { reason: explainWaiting(queue).reason })}{" "}
          <Button
            onClick={() => {
              setReason(queue.reason);
              setLimit(helps(queue));
            }}
          >
            {text("showOther")}
          </Button>
        </Notice>
      )}
      <section className={classes["remedy"]} aria-label={text("letsGo")}>
        <h3>{text("letsGo")}</h3>
        <p>{explainWaiting(helped).remedy}</p>
        <LimitOf key={limit} queue={helped} live={live} cell={cell} />
      </section>
      <Facts
        facts={[
          [text("factQueued"), formatCount(queue.queued)],
          [text("factLongest"), formatMs(queue.oldest_wait_ms)],
          [text("factTenant"), ofCap(tenant?.in_flight, tenant?.max_in_flight)],
          [text("factModel"), formatCount(inFlightOf(live, queue.model))],
          [text("factCell"), ofCap(live.global_in_flight, live.max_in_flight)],
          ...(live.headroom > 0 ? [[text("factHeadroom"), formatCount(live.headroom)] as const] : []),
        ]}
      />
    </>
  );
}

function inFlightOf({ model_in_flight: models }: FairshareLive, model: string): number {
  return Object.hasOwn(models, model) ? (models[model] ?? 0) : 0;
}
