/** The steps of the demo with three hubs, of different operators: each compares what it read on another side. */

import { writeFileSync } from 'node:fs'
import { filesWith, getJson, type Step, same, short, until } from './step.ts'
import { federationStepNames } from './step-names.ts'
import { alice, bob, CAPABILITY, delegate, end, reply, verify } from './steps.ts'
import type { StartedHub, World } from './world.ts'

const FOLDERS = ['hub', 'hub2', 'hub3'] as const
const [ALICES, BOBS, STRANGERS] = FOLDERS
/** A new account of another hub may review after three days. */
const NO_PROBATION = { SVC_HUB_LIMITS: '{"probation_hours":0}' }
const LATE = 'Count the words of this line: better late than never.'
const PAID = 'Count the words of this line: two hubs make one payment together.'
const [PRICE, LIMIT] = [5, 50]
const PAID_WAIT_MS = 20_000
/** A hub that gave no answer is asked again after ten seconds, and a hub takes a moment to start. */
const BACK_WAIT_MS = 60_000
/** A hub asks its peers for reviews every minute. */
const REVIEW_WAIT_MS = 90_000

/** What the steps of this demo hand on beside the others. */
type Federation = { hubs: Map<string, StartedHub>; late: string }
const own = new WeakMap<World, Federation>()
function federationOf(world: World): Federation {
  const held = own.get(world) ?? { hubs: new Map(), late: '' }
  own.set(world, held)
  return held
}

function hubOf(world: World, folder: string): StartedHub {
  const found = federationOf(world).hubs.get(folder)
  if (found === undefined) throw new Error(`the hub in ${folder} was not started`)
  return found
}

const hubs: Step = {
  name: 'hubs',
  title: 'three hubs, each of another operator',
  async run(world, facts, spoiled) {
    const { hubs } = federationOf(world)
    for (const folder of FOLDERS) {
      const started = await world.startHub(NO_PROBATION, '127.0.0.1:0', [], folder)
      hubs.set(folder, started)
      if (spoiled) started.child.kill('SIGKILL')
      const identity = await getJson(`${started.url}/hub/identity`)
      same('hub AID over HTTP', identity['aid'], started.aid)
    }
    facts.hubUrl = hubOf(world, BOBS).url
    return [...hubs.values()].map(({ url }) => url).join(', ')
  },
}

const peers: Step = {
  name: 'peers',
  title: 'each operator lists the two others, by their AIDs',
  async run(world, _facts, spoiled) {
    for (const at of FOLDERS)
      for (const other of FOLDERS) {
        const { url, aid } = hubOf(world, other)
        if (at !== other && !(spoiled && at === BOBS))
          await world.hubAt(at, 'peers', 'add', url, '--yes', aid)
      }
    for (const at of FOLDERS) {
      const { hubs } = (await getJson(`${hubOf(world, at).url}/hub/kels`)) as { hubs: { aid: string }[] }
      const expected = FOLDERS.filter(other => other !== at).map(other => hubOf(world, other).aid)
      same(`hubs that ${at} lists`, hubs.map(({ aid }) => aid).join(), expected.join())
    }
    return 'an AID that its operator confirmed is pinned with its key history'
  },
}

const join: Step = {
  name: 'join',
  title: 'alice joins the first hub, bob the second',
  async run(world, facts, spoiled) {
    await world.hubAt(ALICES, 'admit', facts.alice)
    if (!spoiled) await world.hubAt(BOBS, 'admit', facts.bob)
    await world.svc('alice', 'hub-register', hubOf(world, ALICES).url, '--name', 'alice')
    await world.svc('bob', 'hub-register', hubOf(world, BOBS).url, '--name', 'bob', '--caps', CAPABILITY)
    for (const name of ['alice', 'bob'] as const) await world.svc(name, 'visibility', 'federated')
    await world.svc('bob', 'contact', 'add', facts.alice, 'alice')
    await world.svc('alice', 'contact', 'add', facts.bob, 'bob')
    const registered = async (folder: string) =>
      (await getJson(`${hubOf(world, folder).url}/agents/${facts.bob}/kel`))['registered'] === true
    same('bob is registered at the second hub', await registered(BOBS), true)
    same('bob is registered at the first hub', await registered(ALICES), false)
    facts.tools = await (await import('./tool-client.ts')).startToolClient(
      world.node,
      [world.programs.svc, 'mcp'],
      world.env('alice'),
    )
    return `alice at ${hubOf(world, ALICES).url}, bob at ${hubOf(world, BOBS).url}`
  },
}

const forwarded: Step = {
  name: 'forwarded',
  title: 'two hubs carried it, and none can read it',
  async run(world, _facts, spoiled) {
    const text = Buffer.from('quick brown fox')
    if (spoiled) writeFileSync(world.dir(ALICES, 'planted.txt'), text)
    let searched = 0
    for (const folder of FOLDERS) {
      const files = filesWith(world.dir(folder), text)
      same(`files of ${folder} with the text`, files.found.length, 0)
      searched += files.searched
    }
    for (const name of ['alice', 'bob'])
      same(`${name} holds the text`, filesWith(world.dir(name), text).found.length > 0, true)
    return `${searched} files of three hubs searched: no word of it`
  },
}

const across: Step = {
  name: 'across',
  title: "alice pays bob in the credits of her hub, which owes bob's",
  async run(world, _facts, spoiled) {
    const [alices, bobs] = [hubOf(world, ALICES).aid, hubOf(world, BOBS).aid]
    // without this bob asks for credits of his own hub, of which alice has none
    if (!spoiled) await world.hubAt(BOBS, 'peers', 'limit', alices, String(LIMIT))
    const balance = async (name: 'alice' | 'bob') => Number((await world.svc(name, 'balance'))['balance'])
    const before = { alice: await balance('alice'), bob: await balance('bob') }
    await world.svc('bob', 'price', 'set', 'task', String(PRICE))
    const { interaction_id: asked } = await world.svc('alice', 'delegate', 'bob', PAID)
    const price = await untilPaid(world, 'alice', String(asked), 'open')
    same('the credits that bob asks for', price['network'], `hub:${alices}`)
    same('what alice is told once', price['first_across'], true)
    const { interaction_id: id } = await world.svc('alice', 'approve', String(asked))
    // the hold is over as soon as bob's auto-reply has answered, so nobody looks for it
    for (const name of ['alice', 'bob'] as const) await untilPaid(world, name, String(id), 'taken')
    const answer = await until("bob's answer", async () => {
      const { turns } = (await world.svc('alice', 'thread', String(id))) as {
        turns: { mine: boolean; text: string }[]
      }
      return turns.find(({ mine }) => !mine)?.text
    })
    same('the answer that was paid', answer, '6 words')
    same("alice's balance", await balance('alice'), before.alice - PRICE)
    same("bob's balance", await balance('bob'), before.bob + PRICE)
    const owes = async (folder: string, of: string) => {
      const { peers } = (await world.hubAt(folder, 'peers', 'ls')) as {
        peers: { aid: string; owes: number }[]
      }
      return peers.find(({ aid }) => aid === of)?.owes
    }
    same("what alice's hub owes, by bob's", await owes(BOBS, alices), PRICE)
    same("what alice's hub owes, by its own books", await owes(ALICES, bobs), -PRICE)
    await world.svc('bob', 'price', 'rm', 'task')
    return `${PRICE} credits: taken by bob, and owed by ${short(alices)} to ${short(bobs)}`
  },
}

/** The payment of a task, once it is in a state. */
const untilPaid = (world: World, name: 'alice' | 'bob', id: string, state: string) =>
  until(
    `the payment as ${state} in ${name}'s thread`,
    async () => {
      const thread = await world.svc(name, 'thread', id).catch(() => undefined)
      const payment = thread?.['payment'] as Record<string, unknown> | undefined
      return payment?.['state'] === state ? payment : undefined
    },
    PAID_WAIT_MS,
  )

const review: Step = {
  name: 'review',
  title: "alice's rating of bob is seen at the third hub",
  async run(world, facts, spoiled) {
    if (!spoiled) await world.svc('alice', 'review', facts.interaction, '5', 'counted well')
    const seen = await until(
      'the rating at the third hub',
      async () => {
        const url = `${hubOf(world, STRANGERS).url}/agents/${facts.bob}/reputation`
        const { peers } = (await getJson(url)) as { peers?: { hub: string; avg_rating: number }[] }
        return peers?.[0]
      },
      spoiled ? undefined : REVIEW_WAIT_MS,
    )
    same('the hub that attests it', seen.hub, hubOf(world, ALICES).aid)
    same('the rating', seen.avg_rating, 5)
    return `attested by ${short(seen.hub)}, verified again by ${short(hubOf(world, STRANGERS).aid)}`
  },
}

const away: Step = {
  name: 'away',
  title: "bob's hub is killed; alice's task waits and names it",
  async run(world, _facts, spoiled) {
    const hub = hubOf(world, BOBS)
    if (!spoiled) {
      const ended = new Promise(resolve => hub.child.once('exit', resolve))
      hub.child.kill('SIGKILL')
      await ended
    }
    const { interaction_id } = await world.svc('alice', 'delegate', 'bob', LATE)
    federationOf(world).late = String(interaction_id)
    await until('the reason in the thread', async () => {
      const thread = JSON.stringify(await world.svc('alice', 'thread', String(interaction_id)))
      return thread.includes(`${hub.aid}, did not answer`) ? thread : undefined
    })
    return `the thread says that ${short(hub.aid)} did not answer; nothing is lost`
  },
}

const back: Step = {
  name: 'back',
  title: 'the hub starts again, and the task arrives once',
  async run(world, _facts, spoiled) {
    const { hubs, late } = federationOf(world)
    const before = hubOf(world, BOBS)
    if (!spoiled) hubs.set(BOBS, await world.startHub(NO_PROBATION, new URL(before.url).host, [], BOBS))
    const arrived = await until(
      "the task in bob's inbox",
      async () => {
        const { items } = (await world.svc('bob', 'inbox')) as { items: { interaction_id: string }[] }
        const found = items.filter(item => item.interaction_id === late)
        return found.length > 0 ? found : undefined
      },
      spoiled ? undefined : BACK_WAIT_MS,
    )
    same('how often it arrived', arrived.length, 1)
    const { turns } = (await world.svc('bob', 'thread', late)) as { turns: { text: string }[] }
    same('the task as bob holds it', turns[0]?.text, LATE)
    return 'word for word, by itself'
  },
}

const byName: Readonly<Record<(typeof federationStepNames)[number], Step>> = {
  hubs,
  peers,
  alice,
  bob,
  join,
  delegate,
  forwarded,
  reply,
  end,
  verify,
  across,
  review,
  away,
  back,
}

export const federationSteps: readonly Step[] = federationStepNames.map(name => byName[name])
