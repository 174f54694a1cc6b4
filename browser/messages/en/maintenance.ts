/** Texts of the maintenance of a model. */
export const maintenanceTexts = {
  start: "Start maintenance",
  title: "Maintenance",
  text: "Stops checks and alerts. Requests are still served, but requests for auto go to other models.",
  startFor: "Start maintenance for {length}",
  end: "End maintenance",
  started: "{name} is in maintenance until {instant}",
  ended: "Maintenance of {name} ended",
  failed: "Could not change the maintenance of {name}",
};
