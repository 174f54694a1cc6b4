import { useQuery } from "@tanstack/react-query";
import { read } from "../../data/reads.ts";
import { choiceLabel } from "../../forms/record/field-words.ts";
import { modelsTexts } from "../../messages/en/models.ts";
import { texts } from "../../messages/texts.ts";
import { Notice } from "../../ui/states.tsx";

const text = texts("models", modelsTexts);

interface BoonNoticeProps {
  /** Of the model, or as they are typed. */
  readonly boons: unknown;
  readonly servers: unknown;
}

/** Says which of a model's add-ons the settings have switched off; nothing when none is. */
export function BoonNotice({ boons, servers }: BoonNoticeProps) {
  const settings = useQuery(read("/api/v1/settings/boons"));
  const on: Readonly<Record<string, boolean>> = {
    vision: settings.data?.vision_enabled !== false,
    structured_output: settings.data?.structured_output_enabled !== false,
    compression: settings.data?.compression_enabled !== false,
  };
  const chosen = Array.isArray(boons) ? boons.map(String) : [];
  const isLoopOff = Array.isArray(servers) && servers.length > 0 && settings.data?.tool_loop_enabled === false;
  const names = [
    ...chosen.filter((boon) => on[boon] === false).map(choiceLabel),
    ...(isLoopOff ? [text("toolLoop")] : []),
  ];
  return names.length === 0 ? null : <Notice tone="warn">{text("boonOff", { names: names.join(", ") })}</Notice>;
}
