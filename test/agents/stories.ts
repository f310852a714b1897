/**
 * What an agent needs to get its work done with the tools: stories with wrong turns, played by a reader that knows nothing
 * but what the tools say, and goes on with the calls that they name. Calls and received characters are counted.
 */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { callsOf } from '../../daemon/control/invoke.ts'
import type { Node } from '../../daemon/node.ts'
import { openFiles } from '../../mcp/files.ts'
import { runTool } from '../../mcp/run.ts'
import { tools } from '../../mcp/tools/all.ts'
import { type Lab, never, openPair, until } from '../two-nodes/world.ts'

const SLOW_MS = 8_000
const LONG_CHARACTERS = 30_000
const WEEK_MS = 7 * 86_400_000

type Reply = Record<string, unknown>
/** What a model had to do and to read. */
export type Cost = { calls: number; characters: number }
type World = { lab: Lab; alice: Node; bob: Node }
/** Plays to its end, and fails when that is not what the story promises. */
type Story = (world: World, reader: Reader, readerOfBob: Reader) => Promise<void>

/** An agent that counts what it does. */
class Reader {
  readonly #node: Node
  readonly #folder: string
  readonly cost: Cost = { calls: 0, characters: 0 }

  constructor(node: Node, folder: string) {
    this.#node = node
    this.#folder = folder
  }

  async call(name: string, args: Reply = {}): Promise<Reply> {
    const tool = tools.find(row => row.name === name)
    if (tool === undefined) throw new Error(`there is no tool ${name}`)
    const node = this.#node
    const files = openFiles({
      configured: [this.#folder],
      cwd: '/',
      roots: async () => undefined,
      dataDir: async () => node.ctx.dir,
    })
    const { content, structuredContent } = await runTool(tool, args, {
      call: callsOf(node),
      signal: never,
      asked: new Map(),
      command: line => line,
      files,
      readOnly: false,
    })
    this.cost.calls++
    this.cost.characters += content[0]?.text.length ?? 0
    return structuredContent as Reply
  }

  /** Makes a call that a reply named, with its blanks filled in. */
  follow(text: unknown, blanks: Reply = {}): Promise<Reply> {
    const [, name = '', given = '{}'] = /^(\w+) (\{.*\})$/s.exec(String(text)) ?? []
    return this.call(name, { ...(JSON.parse(given) as Reply), ...blanks })
  }
}

const errorOf = (reply: Reply) => reply['error'] as { code: string; next: string }
const answerIn = (reply: Reply) =>
  (reply['answer'] ?? []) as { text?: string; file?: { path: string }; attachments?: { path: string }[] }[]
const actionIn = (reply: Reply, word: string) =>
  (reply['actions'] as string[] | undefined)?.find(action => action.includes(word))
const idOf = (reply: Reply) => String(reply['interaction_id'])
const review: Reply = { rating: 5, comment: 'as asked' }

function holds(what: string, is: unknown): void {
  if (!is) throw new Error(`the story went another way: ${what}`)
}

/** Bob's side: what he does with each task, and that he agrees to every end. */
function playedBy(bob: Node, act: (id: string) => Promise<unknown>): () => void {
  const taken = new Set<string>()
  return bob.ctx.events.listen(({ type, data }) => {
    const id = String(data['interaction_id'] ?? '')
    const isEnd = data['state'] === 'end_proposed'
    if (type === 'message' && isEnd)
      void bob.handlers.end({ interaction_id: id, mode: 'accept' }, never).catch(() => {})
    if (type !== 'inbox' || taken.has(id)) return
    taken.add(id)
    void act(id).catch(() => {})
  })
}

const says = (bob: Node, text: string) => (id: string) =>
  bob.handlers.message({ interaction_id: id, text }, never)

async function reviewed(reader: Reader, reply: Reply): Promise<void> {
  const ended = await reader.follow(actionIn(reply, '"rating"'), review)
  holds('the receipt and the review are there', ended['signatures_valid'] === true && ended['review_cid'])
}

/** A task whose provider does this, answered and ended in the usual way. */
const usual =
  (
    act: (world: World) => (id: string) => Promise<unknown>,
    play: (world: World, reader: Reader) => Promise<void>,
  ): Story =>
  async (world, reader) => {
    const stop = playedBy(world.bob, act(world))
    try {
      await play(world, reader)
    } finally {
      stop()
    }
  }

const stories: Readonly<Record<string, Story>> = {
  plain: usual(
    ({ bob }) => says(bob, 'It is 3.'),
    async (_, reader) => {
      const found = (await reader.call('agents_find', { query: 'bob' }))['agents'] as { aid: string }[]
      const reply = await reader.call('task_delegate', { to: found[0]?.aid, task: 'Sum 1 and 2', wait_s: 30 })
      holds('the answer came', answerIn(reply).length === 1)
      await reviewed(reader, reply)
    },
  ),
  'bad argument': usual(
    ({ bob }) => says(bob, 'It is 3.'),
    async (_, reader) => {
      const wrong = await reader.call('task_delegate', { recipient: 'bob', task: 'Sum 1 and 2', wait_s: 30 })
      const reply = await reader.follow(errorOf(wrong).next, { to: 'bob' })
      holds('the answer came', answerIn(reply).length === 1)
      await reviewed(reader, reply)
    },
  ),
  'slow peer': usual(
    ({ bob }) =>
      async id => {
        await pause(SLOW_MS)
        await says(bob, 'It took a while.')(id)
      },
    async (_, reader) => {
      const early = await reader.call('task_delegate', { to: 'bob', task: 'Think', wait_s: 2 })
      const reply = await reader.follow(early['next'])
      holds('the answer came', answerIn(reply).length === 1)
      await reviewed(reader, reply)
    },
  ),
  'long answer': usual(
    ({ bob }) => says(bob, 'word '.repeat(LONG_CHARACTERS / 5)),
    async (_, reader) => {
      const reply = await reader.call('task_delegate', { to: 'bob', task: 'Write much', wait_s: 30 })
      holds('the whole is a file', answerIn(reply)[0]?.file !== undefined)
      await reviewed(reader, reply)
    },
  ),
  declined: usual(
    ({ bob }) =>
      id =>
        bob.handlers.decline({ interaction_id: id, reason: 'not mine to do' }, never),
    async (_, reader) => {
      const reply = await reader.call('task_delegate', { to: 'bob', task: 'Do it', wait_s: 30 })
      holds('it is declined, with the reason', reply['state'] === 'declined' && reply['reason'])
    },
  ),
  stranger: async ({ alice, bob }, _, reader) => {
    await bob.handlers.contactRemove({ peer: 'alice' }, never)
    const { interaction_id } = await alice.handlers.delegate({ to: bob.aid, task: 'Of a stranger' }, never)
    await until('it is here', () => bob.ctx.threads.findById(interaction_id))
    const [item] = (await reader.call('task_inbox'))['items'] as Reply[]
    const waiting = await reader.call('task_inbox', { interaction_id: item?.['interaction_id'] })
    holds('the user is asked', actionIn(waiting, 'ask your user to run'))
    await bob.handlers.approve({ interaction_id }, never)
    const open = await reader.call('task_inbox', { interaction_id })
    await reader.follow(actionIn(open, 'task_message'), { text: 'Done.' })
  },
  expired: async ({ lab, alice }, reader) => {
    const reply = await reader.call('task_delegate', { to: 'bob', task: 'Is anybody there' })
    lab.hub.clock.advance(WEEK_MS)
    await until('it is called expired', async () => {
      await alice.ctx.hub.home?.refresh()
      alice.wake()
      return alice.ctx.threads.findById(idOf(reply))?.state === 'expired'
    })
    const late = await reader.follow(reply['next'])
    holds('it says so', late['state'] === 'expired')
    const gone = await reader.follow(actionIn(late, '"cancel":true'), { note: 'too late' })
    holds('it is withdrawn', gone['state'] === 'cancelled')
  },
  'hub down': usual(
    ({ bob }) => says(bob, 'At last.'),
    async ({ lab }, reader) => {
      await lab.line.down()
      const reply = await reader.call('task_delegate', { to: 'bob', task: 'While it is down', wait_s: 1 })
      holds('it waits here', ['queued', 'delivered'].includes(String(reply['state'])))
      await lab.line.up()
      const answered = await reader.follow(reply['next'])
      holds('the answer came', answerIn(answered).length === 1)
      await reviewed(reader, answered)
    },
  ),
  'two at once': usual(
    ({ bob }) => says(bob, 'Here.'),
    async (_, reader) => {
      const { new_cursor } = await reader.call('task_results', { limit: 1 })
      for (const task of ['One', 'Two']) await reader.call('task_delegate', { to: 'bob', task })
      const answered = new Set<string>()
      for (let cursor = new_cursor; answered.size < 2; ) {
        const news = await reader.call('task_results', { cursor, wait_s: 30 })
        for (const item of news['items'] as Reply[]) answered.add(idOf(item))
        cursor = news['new_cursor']
      }
      for (const interaction_id of answered)
        await reviewed(reader, await reader.call('task_results', { interaction_id }))
    },
  ),
  'attachments both ways': usual(
    ({ bob, lab }) => {
      const answer = join(lab.folder, 'answer.md')
      writeFileSync(answer, 'the answer')
      return id => bob.handlers.message({ interaction_id: id, text: 'Attached.', attach: [answer] }, never)
    },
    async ({ lab }, reader) => {
      const question = join(lab.folder, 'question.md')
      writeFileSync(question, 'the question')
      const given = { to: 'bob', task: 'Read it', attach: [question], wait_s: 30 }
      const reply = await reader.call('task_delegate', given)
      holds('a file came', answerIn(reply)[0]?.attachments?.[0]?.path)
      await reviewed(reader, reply)
    },
  ),
  'unknown name': usual(
    ({ bob }) => says(bob, 'It is me.'),
    async (_, reader) => {
      const wrong = await reader.call('task_delegate', { to: 'bo', task: 'Who are you', wait_s: 30 })
      const found = (await reader.follow(errorOf(wrong).next))['agents'] as { aid: string }[]
      const given = { to: found[0]?.aid, task: 'Who are you', wait_s: 30 }
      const reply = await reader.call('task_delegate', given)
      holds('the answer came', answerIn(reply).length === 1)
      await reviewed(reader, reply)
    },
  ),
}

export const storyNames = Object.keys(stories)

/** Plays a story with two nodes of its own. */
export async function play(name: string): Promise<Cost> {
  const world = await openPair()
  const { lab, alice, bob } = world
  try {
    await alice.handlers.contactAdd({ aid: bob.aid, petname: 'bob' }, never)
    const [first, second] = [new Reader(alice, lab.folder), new Reader(bob, lab.folder)]
    await stories[name]?.(world, first, second)
    return {
      calls: first.cost.calls + second.cost.calls,
      characters: first.cost.characters + second.cost.characters,
    }
  } finally {
    await lab.close()
  }
}
