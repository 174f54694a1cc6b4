import type { AttentionItem } from "../../../shared/schema/attention.ts";
import { explainAttention } from "../../explain/explain-attention.ts";
import { TargetLink, targetName } from "../../links/target-link.tsx";
import { overviewTexts } from "../../messages/en/overview.ts";
import { texts } from "../../messages/texts.ts";
import { formatInstant } from "../../time/instants.ts";
import { Age } from "../../time/use-clock.tsx";
import { useZone } from "../../time/zone-context.tsx";
import { Badge } from "../../ui/badge.tsx";
import { Button } from "../../ui/button.tsx";
import { Empty } from "../../ui/states.tsx";
import classes from "./attention-list.module.css";

const text = texts("overview", overviewTexts);
const SHOWN_AT_FIRST = 6;
/** Times as the server writes them. */
const ISO_TIME = /\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z/g;
/** The API lists at most this many (docs/rules/attention.md#kinds). */
const ATTENTION_MAX = 200;

/** What a person has to act on, the most urgent first, each with the view where it can be fixed. */
export function AttentionList({
  items,
  readAtMs,
  isWhole,
  onWhole,
}: {
  readonly items: readonly AttentionItem[];
  /** When the list was read, epoch ms. */
  readonly readAtMs: number;
  readonly isWhole: boolean;
  readonly onWhole: (isWhole: boolean) => void;
}) {
  if (items.length === 0)
    return (
      <Empty title={text("attentionNone")}>
        {text("attentionNoneText")} {text("attentionChecked")} <Age at={readAtMs} />.
      </Empty>
    );
  const shown = isWhole ? items : items.slice(0, SHOWN_AT_FIRST);
  return (
    <>
      <ul className={classes["list"]}>
        {shown.map((item) => (
          <Entry key={`${item.kind} ${item.entity_id} ${item.name} ${item.detail}`} item={item} />
        ))}
      </ul>
      {items.length > SHOWN_AT_FIRST && (
        <div className={classes["more"]}>
          <Button onClick={() => onWhole(!isWhole)}>
            {isWhole ? text("showFewer") : text("showAll", { count: items.length })}
          </Button>
          {items.length >= ATTENTION_MAX && <span>{text("attentionFull")}</span>}
        </div>
      )}
    </>
  );
}

function Entry({ item }: { readonly item: AttentionItem }) {
  const { tone, title, sentence, detail, link, alert } = explainAttention(item);
  const { zone } = useZone();
  return (
    <li className={classes["entry"]} data-tone={tone}>
      <div className={classes["words"]}>
        <h3>
          {title} {tone === "bad" && <Badge tone="bad">{text("critical")}</Badge>}
        </h3>
        <p>{sentence}</p>
        <p className={classes["detail"]}>
          {detail.replace(ISO_TIME, (time) => formatInstant(zone, Date.parse(time), "minute"))}{" "}
          {item.since === null ? null : (
            <>
              · {text("since")} <Age at={item.since} />
            </>
          )}
        </p>
      </div>
      {alert !== null && (
        <TargetLink target={alert} label={text("muteOf", { title })} isButton>
          {text(item.muted_until === null ? "mute" : "muted")}
        </TargetLink>
      )}
      {link !== null && (
        <TargetLink target={link} label={`${targetName(link)}: ${title}`} isButton>
          {targetName(link)}
        </TargetLink>
      )}
    </li>
  );
}
