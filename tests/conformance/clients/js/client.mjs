// node client.mjs URL [--transport HTTP+JSON] [--old]
//
// What the Python clients go through (../journey.py), with @a2a-js/sdk: a line for each step, then how many passed,
// failed and were skipped.

import assert from "node:assert/strict";
import { setTimeout as pause } from "node:timers/promises";
import { parseArgs } from "node:util";
import { connect, ENDED, events, pushing, readCard, saying, stateOf, textOf, turnsOf, webhook } from "./library.mjs";

const SECONDS = 60; // for a step
const PATIENCE = 30; // seconds until a webhook is told
const WORKS = "test-resubscribe-message-id"; // for four seconds, and says so each half of one
const TWO_SECONDS = "tck-delayed-complete";

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { transport: { type: "string", default: "JSONRPC" }, old: { type: "boolean", default: false } },
});
const { transport, old } = values;
const hook = await webhook();

class Missing extends Error {}

let card, client, ended, watched;
const get = (id, historyLength) => client.getTask({ tenant: "", id, historyLength });
const cancel = (id) => client.cancelTask({ tenant: "", id });
const follow = (id) => events(client.resubscribeTask({ tenant: "", id }));
const hooks = async () => (await client.listTaskPushNotificationConfig({ tenant: "", taskId: watched.id })).configs;

const steps = {
  async "the card offers the transport"() {
    card = await readCard(positionals[0], old);
    assert.ok(card.name);
    assert.ok(card.supportedInterfaces.some((face) => face.protocolBinding === transport));
    client = await connect(card, transport, old);
  },
  async "a send waits for the answer"() {
    ended = await client.sendMessage(saying());
    assert.equal(stateOf(ended), "completed");
    assert.equal(textOf(ended.status.message.parts), "Hello from TCK");
  },
  async "a task is read back"() {
    assert.deepEqual(await get(ended.id), ended);
  },
  async "no history is given where none is wanted"() {
    if (old) throw new Missing("0.3 does not say what a length of 0 is");
    assert.deepEqual((await get(ended.id, 0)).history, []);
  },
  async "an unknown task is not found"() {
    await refused(() => get("no-such-task"), "TaskNotFound");
  },
  async "the tasks of a context are listed"() {
    if (old) throw new Missing("not in 0.3");
    const { tasks } = await client.listTasks({ tenant: "", contextId: ended.contextId, status: 0, pageToken: "" });
    assert.deepEqual(tasks.map((task) => task.id), [ended.id]);
  },
  async "a send that does not wait is polled to its end"() {
    let task = await client.sendMessage(saying({ begin: TWO_SECONDS, wait: false }));
    const states = new Set([stateOf(task)]);
    while (!ENDED.has(stateOf(task))) {
      await pause(300);
      task = await get(task.id);
      states.add(stateOf(task));
    }
    states.delete("submitted");
    assert.deepEqual([...states], ["working", "completed"]);
  },
  async "a stream begins with the task and ends with its end"() {
    streams();
    const told = await all(events(client.sendMessageStream(saying({ begin: "tck-stream-001" }))));
    assert.equal(told[0].kind, "task");
    assert.equal(told.at(-1).state, "completed");
    assert.ok(told.some((event) => event.kind === "artifactUpdate"));
  },
  async "events come as they happen"() {
    streams();
    const arrivals = [];
    for await (const _ of events(client.sendMessageStream(saying({ begin: WORKS })))) arrivals.push(Date.now());
    assert.ok(arrivals.at(-1) - arrivals[0] > 2000, String(arrivals));
  },
  async "a running task is followed again"() {
    streams();
    let task;
    for await (const event of events(client.sendMessageStream(saying({ begin: WORKS })))) {
      task = event.task;
      break; // which ends the stream
    }
    const told = await all(follow(task));
    assert.equal(told.at(-1).state, "completed");
    assert.ok(old || told[0].kind === "task");
  },
  async "an ended task is not followed"() {
    streams();
    if (old) throw new Missing("0.3 leaves it open");
    await refused(() => all(follow(ended.id)), "UnsupportedOperation");
  },
  async "a cancelled task stays cancelled"() {
    const task = await client.sendMessage(saying({ begin: TWO_SECONDS, wait: false }));
    await pause(500);
    assert.equal(stateOf(await cancel(task.id)), "canceled");
    await pause(3000); // it would have ended by now
    assert.equal(stateOf(await get(task.id)), "canceled");
  },
  async "an ended task is not cancelled"() {
    await refused(() => cancel(ended.id), "TaskNotCancelable");
  },
  async "three turns are one task"() {
    const first = await client.sendMessage(saying({ text: "ask", begin: "tck-input-required" }));
    const second = await client.sendMessage(saying({ text: "ask again", begin: "tck-input-required", task: first.id }));
    const third = await client.sendMessage(saying({ text: "done", begin: "tck-complete-task", task: first.id }));
    assert.deepEqual([first, second, third].map(stateOf), ["input-required", "input-required", "completed"]);
    for (const task of [second, third]) assert.deepEqual([task.id, task.contextId], [first.id, first.contextId]);
    assert.deepEqual(turnsOf(third), ["ask", "ask again", "done"]);
    for (const message of third.history) assert.equal(message.contextId, first.contextId);
  },
  async "an ended task takes no message"() {
    await refused(() => client.sendMessage(saying({ task: ended.id })), "UnsupportedOperation");
  },
  async "a webhook is set"() {
    watched = await client.sendMessage(saying({ begin: TWO_SECONDS, wait: false }));
    const set = () => client.createTaskPushNotificationConfig(pushing({ id: "mine", task: watched.id, url: hook.url }));
    if (!card.capabilities.pushNotifications) return refused(set, "PushNotificationNotSupported");
    const { id, taskId, url } = await set();
    assert.deepEqual([id, taskId, url], ["mine", watched.id, hook.url]);
  },
  async "a webhook is read"() {
    pushes();
    const found = await client.getTaskPushNotificationConfig({ tenant: "", id: "mine", taskId: watched.id });
    assert.deepEqual([found.id, found.url], ["mine", hook.url]);
  },
  async "webhooks are listed"() {
    pushes();
    assert.deepEqual((await hooks()).map((config) => config.id), ["mine"]);
  },
  async "a webhook is deleted"() {
    pushes();
    await client.deleteTaskPushNotificationConfig({ tenant: "", id: "mine", taskId: watched.id });
    assert.deepEqual(await hooks(), []);
  },
  async "a webhook is told of the end"() {
    const send = () => client.sendMessage(saying({ begin: TWO_SECONDS, wait: false, hook: hook.url }));
    if (!card.capabilities.pushNotifications) return refused(send, "PushNotificationNotSupported");
    hook.posts.length = 0;
    await send();
    const end = Date.now() + PATIENCE * 1000;
    const word = old ? "completed" : "COMPLETED";
    while (Date.now() < end && !JSON.stringify(hook.posts).includes(word)) await pause(200);
    assert.ok(JSON.stringify(hook.posts).includes(word), `told: ${JSON.stringify(hook.posts)}`);
    const known = old ? ["task"] : ["task", "statusUpdate", "artifactUpdate"];
    for (const post of hook.posts) assert.ok(known.includes(post.kind ?? Object.keys(post)[0]));
    assert.equal(hook.strangers, 0);
  },
};

function streams() {
  if (!card.capabilities.streaming) throw new Missing("the card offers no streams");
}

function pushes() {
  if (!card.capabilities.pushNotifications) throw new Missing("the card offers no webhooks");
}

async function all(stream) {
  const told = [];
  for await (const event of stream) told.push(event);
  return told;
}

/** The agent must answer with that error of the protocol. */
async function refused(call, reason) {
  await assert.rejects(async () => call(), { name: `${reason}Error` });
}

const counts = { ok: 0, FAIL: 0, skip: 0 };
for (const [name, step] of Object.entries(steps)) {
  let outcome = "ok";
  let note = "";
  try {
    const late = pause(SECONDS * 1000, null, { ref: false }).then(() => assert.fail(`no end within ${SECONDS} s`));
    await Promise.race([step(), late]);
  } catch (error) {
    outcome = error instanceof Missing ? "skip" : "FAIL";
    note = `: ${[error.message, error.cause?.message ?? ""].join(" ").trim().replace(/\s+/g, " ")}`;
  }
  counts[outcome] += 1;
  console.log(`${outcome.padEnd(4)} ${name}${note}`);
}
console.log(`${counts.ok} passed, ${counts.FAIL} failed, ${counts.skip} skipped`);
process.exit(counts.FAIL ? 1 : 0);
