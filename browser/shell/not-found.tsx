import { Link } from "@tanstack/react-router";
import { commonText } from "../messages/common.ts";
import { shellTexts } from "../messages/en/shell.ts";
import { texts } from "../messages/texts.ts";
import { Empty } from "../ui/states.tsx";

const text = texts("shell", shellTexts);

/** The page for addresses that lead nowhere. */
export function NotFound() {
  return (
    <Empty title={text("notFoundTitle")} action={<Link to="/">{text("backToStart")}</Link>}>
      {commonText("gone")}
    </Empty>
  );
}
