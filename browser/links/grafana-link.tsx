import { useQuery } from "@tanstack/react-query";
import { ExternalLink } from "lucide-react";
import { sessionQuery } from "../data/session.ts";
import { commonText } from "../messages/common.ts";
import classes from "./target-link.module.css";

/**
 * A link to the gateway's dashboard in Grafana (infra/grafana), in another tab; nothing where nobody has told of one
 * (docs/rules/console.md#variables). `cell`: of that one alone.
 */
export function GrafanaLink({ cell }: { readonly cell?: string | undefined }) {
  const { data } = useQuery(sessionQuery);
  if (data === undefined || data.grafana_url === null) return null;
  const query = new URLSearchParams({
    from: "now-24h",
    to: "now",
    ...(cell === undefined ? {} : { "var-cell": cell }),
  });
  return (
    <a
      href={`${data.grafana_url}/d/inference-gateway?${query}`}
      target="_blank"
      rel="noreferrer"
      className={classes["button"]}
    >
      {commonText("grafana")} <ExternalLink size={14} aria-hidden />
    </a>
  );
}
