import { Pencil } from "lucide-react";
import { useState } from "react";
import { commonText } from "../../messages/common.ts";
import { playgroundTexts } from "../../messages/en/playground.ts";
import { texts } from "../../messages/texts.ts";
import { Button, IconButton } from "../../ui/button.tsx";
import { openCalls, type ToolResult, type Turn } from "./conversation.ts";
import { ExchangeView } from "./exchange-view.tsx";
import { Images, MessageField } from "./message-field.tsx";
import classes from "./playground-page.module.css";

const text = texts("playground", playgroundTexts);

interface TurnProps {
  readonly turn: Turn;
  readonly isLast: boolean;
  readonly onSay: (text: string, images: readonly string[], before: number) => void;
  readonly onResults: (turn: number, lane: number, results: readonly ToolResult[]) => void;
  readonly onRetry: (turn: number, lane: number) => void;
}

/** What a person has said, and the answers beside one another. */
export function TurnView({ turn, isLast, onSay, onResults, onRetry }: TurnProps) {
  const [edited, setEdited] = useState<Pick<Turn, "text" | "images"> | null>(null);
  const { id, lanes } = turn;
  const sendAgain = (): void => {
    if (edited === null) return;
    onSay(edited.text, edited.images, id);
    setEdited(null);
  };
  return (
    <section className={classes["turn"]}>
      <div className={classes["said"]}>
        <h3>{text("you")}</h3>
        {edited === null ? (
          <>
            <p dir="auto">{turn.text}</p>
            <Images images={turn.images} />
            <IconButton label={commonText("edit")} onClick={() => setEdited(turn)}>
              <Pencil size={14} aria-hidden />
            </IconButton>
          </>
        ) : (
          <MessageField
            value={edited.text}
            images={edited.images}
            onChange={(value) => setEdited({ ...edited, text: value })}
            onImages={(change) => setEdited((before) => before && { ...before, images: change(before.images) })}
            onSend={sendAgain}
            actions={
              <>
                <Button onClick={() => setEdited(null)}>{commonText("cancel")}</Button>
                <Button tone="primary" onClick={sendAgain}>
                  {text("sendAgain")}
                </Button>
              </>
            }
          />
        )}
      </div>
      <div className={classes["lanes"]}>
        {lanes.map((exchanges, lane) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: a lane is its place
          <div key={lane} className={classes["lane"]}>
            {exchanges.map((exchange, nth) => {
              const next = exchanges[nth + 1];
              return (
                <ExchangeView
                  key={exchange.id}
                  exchange={exchange}
                  calls={isLast ? openCalls(exchange, next) : []}
                  onResults={(results) => onResults(id, lane, results)}
                  onRetry={isLast && next === undefined ? () => onRetry(id, lane) : undefined}
                />
              );
            })}
          </div>
        ))}
      </div>
    </section>
  );
}
