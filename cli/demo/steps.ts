/**
 * The steps of the demo. Each compares a value that it read from the other side (process, file or hub) with what was
 * sent; each can be spoiled, and then must fail.
 */

import { createHash } from 'node:crypto'
import { writeFileSync } from 'node:fs'
import { shellWord } from '../../protocol/shell.ts'
import {
  type Facts,
  filesWith,
  getJson,
  refusesAlteredChain,
  rewriteRecord,
  type Step,
  same,
  short,
  startNode,
  until,
} from './step.ts'
import { stepNames } from './step-names.ts'
import type { World } from './world.ts'

export const TASK = 'Count the words of this line: the quick brown fox jumps over the lazy dog.'
export const CAPABILITY = 'text.count'
const bytesIn = (text: string) => Buffer.from(text)

/** The answer of the program that bob's node runs: it reads the prompt and says what it found there. */
const ANSWERER = `let prompt = ''
process.stdin.on('data', chunk => { prompt += chunk }).on('end', () => {
  const task = prompt.match(/Count the words of this line: ([^\\n]+)/)
  console.log(task === null ? 'no task' : task[1].trim().split(/\\s+/).length + ' words')
})
`
export const EXPECTED = `${
  TASK.slice(TASK.indexOf(':') + 1)
    .trim()
    .split(/\s+/).length
} words`

export const hub: Step = {
  name: 'hub',
  title: 'a hub of our own, closed',
  async run(world, facts, spoiled) {
    const { url, aid, child } = await world.startHub()
    if (spoiled) child.kill('SIGKILL')
    const identity = await getJson(`${url}/hub/identity`)
    same('hub AID over HTTP', identity['aid'], aid)
    facts.hubUrl = url
    return `${url}, wire ${String(identity['wire'])}, hub ${short(aid)}`
  },
}

export const alice: Step = {
  name: 'alice',
  title: 'a node for alice, who delegates',
  async run(world, facts, spoiled) {
    facts.alice = await startNode(world, 'alice', {}, spoiled)
    return `identity ${short(facts.alice)}`
  },
}

export const answerer = (world: World): string =>
  `${shellWord(world.node)} ${shellWord(world.dir('answer.mjs'))}`

export const bob: Step = {
  name: 'bob',
  title: 'a node for bob, whose auto-reply answers',
  async run(world, facts, spoiled) {
    const script = world.dir('answer.mjs')
    writeFileSync(script, ANSWERER, { mode: 0o600 })
    facts.bob = await startNode(world, 'bob', { SVC_EXEC_COMMAND: answerer(world) }, spoiled)
    const reply = await world.svc('bob', 'autoreply', 'set', '--backend', 'exec', '--poll-interval', '1')
    same('auto-reply', reply['enabled'], true)
    return `identity ${short(facts.bob)}, auto-reply: exec`
  },
}

export const admit: Step = {
  name: 'admit',
  title: 'the operator admits both, they register',
  async run(world, facts, spoiled) {
    const refused = await world.run(world.programs.svc, ['hub-register', facts.hubUrl], world.env('bob'))
    if (refused.code === 0 || !refused.stderr.includes(facts.bob))
      throw new Error('an AID that is not admitted was let in')
    await world.hub('admit', facts.alice)
    if (!spoiled) await world.hub('admit', facts.bob)
    await Promise.all([
      world.svc('alice', 'hub-register', facts.hubUrl, '--name', 'alice'),
      world.svc('bob', 'hub-register', facts.hubUrl, '--name', 'bob', '--caps', CAPABILITY),
    ])
    await world.svc('bob', 'contact', 'add', facts.alice, 'alice')
    for (const aid of [facts.alice, facts.bob]) {
      same(
        'the hub says registered',
        (await getJson(`${facts.hubUrl}/agents/${aid}/kel`))['registered'],
        true,
      )
    }
    return 'first refused, then admitted, then registered'
  },
}

export const find: Step = {
  name: 'find',
  title: "alice's coding agent finds bob by capability",
  async run(world, facts, spoiled) {
    facts.tools = await (await import('./tool-client.ts')).startToolClient(
      world.node,
      [world.programs.svc, 'mcp'],
      world.env('alice'),
    )
    same('number of MCP tools', (await facts.tools.listTools()).length, 9)
    const capability = spoiled ? 'nobody.has.this' : CAPABILITY
    const found = (await facts.tools.callTool('agents_find', { capability }))['agents'] as { aid: string }[]
    same('AID in the directory', found[0]?.aid, facts.bob)
    return `nine tools over stdio; ${CAPABILITY} -> ${short(facts.bob)}`
  },
}

export const delegate: Step = {
  name: 'delegate',
  title: 'task_delegate: one sealed task',
  async run(world, facts, spoiled) {
    if (spoiled) await world.svc('bob', 'accept', 'off')
    const reply = await facts.tools.callTool('task_delegate', { to: facts.bob, task: TASK })
    facts.interaction = String(reply['interaction_id'])
    const arrived = await until("the task in bob's inbox", async () => {
      const { items } = (await world.svc('bob', 'inbox')) as { items: { interaction_id: string }[] }
      return items.find(item => item.interaction_id === facts.interaction)
    })
    const { turns } = (await world.svc('bob', 'thread', arrived.interaction_id)) as {
      turns: { text: string }[]
    }
    same('the task as bob holds it', turns[0]?.text, TASK)
    return `interaction ${facts.interaction} is in bob's store, word for word`
  },
}

const sealed: Step = {
  name: 'sealed',
  title: 'the hub carried it and cannot read it',
  async run(world, _facts, spoiled) {
    const needle = bytesIn('quick brown fox')
    if (spoiled) writeFileSync(world.dir('hub', 'planted.txt'), TASK)
    const canary = world.dir('hub', 'canary.tmp')
    writeFileSync(canary, `canary ${TASK}`)
    same(
      'files with a planted canary',
      filesWith(world.dir('hub'), bytesIn(`canary ${TASK}`)).found.length,
      1,
    )
    writeFileSync(canary, '')
    const { searched, found } = filesWith(world.dir('hub'), needle)
    same('files of the hub with the text', found.length, 0)
    const inStores = ['alice', 'bob'].every(name => filesWith(world.dir(name), needle).found.length > 0)
    same('both nodes hold the text', inStores, true)
    return `${searched} files of the hub searched: no word of it`
  },
}

type Thread = {
  state: string
  turns: { text: string; from: string }[]
  receipt?: { receipt_id: string; signatures_valid: boolean }
}
const threadOf = async (facts: Facts) =>
  (await facts.tools.callTool('task_inbox', { interaction_id: facts.interaction })) as Thread

export const reply: Step = {
  name: 'reply',
  title: "bob's agent answers by itself",
  async run(world, facts, spoiled) {
    const answer = await until("bob's answer", async () =>
      (await threadOf(facts)).turns.find(turn => turn.from !== 'me'),
    )
    const text = answer.text.replace(/<<\/?untrusted [0-9a-f]+>>/g, '')
    same('the answer', text, spoiled ? 'something else' : EXPECTED)
    const { turns } = (await world.svc('bob', 'thread', facts.interaction)) as {
      turns: { text: string; mine: boolean }[]
    }
    same("the answer in bob's store", turns.find(turn => turn.mine)?.text, text)
    facts.answer = text
    return `"${text}" through the exec backend`
  },
}

export const end: Step = {
  name: 'end',
  title: 'task_end: both end, a receipt signed by both',
  async run(world, facts, spoiled) {
    if (spoiled) await world.svc('bob', 'autoreply', 'off')
    await facts.tools.callTool('task_end', { interaction_id: facts.interaction })
    const mine = await until('the receipt', async () => (await threadOf(facts)).receipt)
    same('the receipt is verified', mine.signatures_valid, true)
    const theirs = await until(
      "bob's receipt",
      async () =>
        ((await world.svc('bob', 'thread', facts.interaction)) as { receipt?: { id: string } }).receipt,
    )
    same('one receipt on both sides', theirs.id, mine.receipt_id)
    return `receipt ${mine.receipt_id.slice(0, 16)}… on both sides`
  },
}

export const verify: Step = {
  name: 'verify',
  title: 'the receipt verified offline, with the result file',
  async run(world, facts, spoiled) {
    facts.receipt = String((await world.svc('alice', 'verify', facts.interaction))['receipt'])
    const pulled = await world.svc('alice', 'pull', facts.interaction, '--out', world.dir('pulled'))
    facts.resultFile = String(pulled['result_file'])
    if (spoiled) writeFileSync(facts.resultFile, 'another result')
    const ran = await offline(world, facts, facts.receipt)
    const verdict = JSON.parse(ran.stdout) as Record<string, unknown>
    same('exit code', ran.code, 0)
    same('verdict', verdict['verdict'], 'valid')
    same('content id of the file', verdict['result_cid_of_file'], verdict['result_cid'])
    return 'without either node: signature and content hold'
  },
}

function offline(world: World, facts: Facts, receipt: string) {
  const args = ['verify', '--receipt', receipt, '--hub', facts.hubUrl, '--result', facts.resultFile]
  return world.run(world.programs.svc, args, { PATH: process.env['PATH'] ?? '', HOME: world.dir('home') })
}

const tamper: Step = {
  name: 'tamper',
  title: 'one flipped byte is refused',
  async run(world, facts, spoiled) {
    const bytes = Buffer.from(facts.receipt, 'base64')
    const at = Math.floor(bytes.length / 2)
    if (!spoiled) bytes[at] = (bytes[at] as number) ^ 1
    const ran = await offline(world, facts, bytes.toString('base64'))
    same('exit code for the altered receipt', ran.code, 1)
    return `byte ${at} of ${bytes.length} flipped: ${ran.stdout === '' ? 'no receipt any more' : 'invalid'}`
  },
}

type Evidence = {
  head: { length: number; head_id: string }
  records: { event_type: string; payload: Record<string, string> }[]
}
const evidenceOf = async (world: World, name: 'alice' | 'bob', type: string) =>
  (await world.svc(name, 'evidence', '--type', type)) as unknown as Evidence

const chains: Step = {
  name: 'chains',
  title: 'two evidence chains that agree, each verified on opening',
  async run(world, facts, spoiled) {
    const accepted = await evidenceOf(world, 'alice', 'svc.result.accepted')
    const issued = await evidenceOf(world, 'bob', 'svc.interaction.receipt')
    same(
      'result id in both chains',
      accepted.records[0]?.payload['result_cid'],
      issued.records[0]?.payload['result_cid'],
    )
    await world.svc('bob', 'stop')
    const chain = world.dir('bob', 'evidence.ael.jsonl')
    if (spoiled) rewriteRecord(chain, facts.alice)
    await refusesAlteredChain(world, facts.alice)
    await world.startNode('bob', { SVC_EXEC_COMMAND: answerer(world) })
    const again = await evidenceOf(world, 'bob', 'svc.interaction.receipt')
    same('head after reopening', again.head.head_id, issued.head.head_id)
    return `alice ${accepted.head.length} records, bob ${issued.head.length}; an altered copy does not open`
  },
}

const rotate: Step = {
  name: 'rotate',
  title: 'bob rotates his key; the old receipt still stands',
  async run(world, facts, spoiled) {
    const before = await getJson(`${facts.hubUrl}/agents/${facts.bob}/kel`)
    if (!spoiled) await world.svc('bob', 'id', 'rotate')
    const after = await until('the new key at the hub', async () => {
      const log = await getJson(`${facts.hubUrl}/agents/${facts.bob}/kel`)
      return log['kel'] === before['kel'] ? undefined : log
    })
    await facts.tools.callTool('task_delegate', { to: facts.bob, task: TASK })
    const verdict = await until('a verdict that knows of the rotation', async () => {
      const found = await world.svc('alice', 'verify', facts.interaction)
      return found['verdict'] === 'valid' ? undefined : found
    })
    same('verdict on the old receipt', verdict['verdict'], 'valid_retired_key')
    const digest = createHash('sha256').update(String(after['kel'])).digest('hex').slice(0, 8)
    return `new log ${digest} at the hub; the receipt is valid under the retired key`
  },
}

const byName: Readonly<Record<(typeof stepNames)[number], Step>> = {
  hub,
  alice,
  bob,
  admit,
  find,
  delegate,
  sealed,
  reply,
  end,
  verify,
  tamper,
  chains,
  rotate,
}

export const steps: readonly Step[] = stepNames.map(name => byName[name])
