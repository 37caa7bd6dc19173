// Puts the parts together; each of them asks the daemon for itself.
import * as askCard from "./ask.js";
import * as charts from "./charts.js";
import * as lessons from "./lessons.js";
import * as operation from "./operation.js";
import * as wall from "./wall.js";

askCard.start();
wall.start(() => askCard.arcs(), askCard.askFor);
operation.start();
charts.start();
lessons.start();
