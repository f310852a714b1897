/** Two nodes take a card from draft to done, by commands of the built programs at a hub of wire 1 that may lose answers. */
import { createServer, request, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { World } from '../../cli/demo/world.ts'

const root = new URL('../..', import.meta.url).pathname
const programs = { svc: join(root, 'dist', 'svc.js'), hub: join(root, 'hub', 'dist', 'svc-hub.js') }
/** The work takes as long as chance wants. */
const PROOF_WITHIN_MS = 240_000
type Who = 'alice' | 'bob'
type Card = { card_id: string; title: string; column: string; state: string; roles: string[] }

let world: World
let between: Between
const aids: Record<string, string> = {}

/** Stands before the hub: what it is told to lose, the hub has done, and nobody hears of it. */
class Between {
  readonly #server: Server
  readonly seen: { path: string; body: string }[] = []
  #losing = 0

  constructor(to: string) {
    this.#server = createServer((incoming, outgoing) => {
      const parts: Buffer[] = []
      incoming.on('data', part => parts.push(part as Buffer))
      incoming.on('end', () => {
        const { url: path = '', method, headers } = incoming
        const isLost = path.startsWith('/tasks/') && method === 'POST' && this.#losing > 0
        if (isLost) this.#losing--
        const body = Buffer.concat(parts)
        this.seen.push({ path, body: body.toString() })
        const onward = request(`${to}${path}`, { method, headers, agent: false }, answer => {
          if (isLost) {
            answer.resume().on('end', () => incoming.socket.destroy())
            return
          }
          outgoing.writeHead(answer.statusCode ?? 500, answer.headers)
          answer.pipe(outgoing)
        })
        onward.on('error', () => incoming.socket.destroy())
        onward.end(body)
      })
    })
  }

  async open(): Promise<string> {
    await new Promise<void>(done => this.#server.listen(0, '127.0.0.1', done))
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`
  }

  /** The next answers to orders never come. */
  lose(count: number): void {
    this.seen.length = 0
    this.#losing = count
  }

  signatures(path: string): string[] {
    return this.seen
      .filter(one => one.path === path)
      .map(({ body }) => (JSON.parse(body) as { sig: string }).sig)
  }

  async close(): Promise<void> {
    this.#server.closeAllConnections()
    await new Promise(done => this.#server.close(done))
  }
}

beforeAll(async () => {
  world = new World(programs)
  const { url } = await world.startHub({}, '127.0.0.1:0', ['--wire', '1'])
  between = new Between(url)
  const at = await between.open()
  for (const name of ['alice', 'bob'] as const) {
    aids[name] = String((await world.startNode(name))['aid'])
    await world.hub('admit', aids[name])
    await world.svc(name, 'hub-register', at, '--wire', '1', '--name', name)
  }
  await world.svc('bob', 'contact', 'add', aids['alice'] as string, 'alice')
})
afterAll(async () => {
  await between.close()
  await world[Symbol.asyncDispose]()
})

const run = (who: Who, ...args: string[]) => world.run(programs.svc, args, world.env(who))
const task = async (who: Who, ...args: string[]) => (await world.svc(who, 'task', ...args)) as unknown as Card
const made = async (title: string) => (await task('alice', 'create', title, '--column', 'ready')).card_id
async function refused(who: Who, ...args: string[]): Promise<{ code: number; stderr: string }> {
  const { code, stdout, stderr } = await run(who, 'task', ...args)
  expect(stdout).toBe('')
  return {
    code,
    stderr: stderr.replaceAll(/^(try|next): (?:npx |node \S+ )?(?:\S*\/)?svc(?:\.js)? /gm, '$1: svc '),
  }
}
const titles = async (column: string) => {
  const { columns } = await world.svc('alice', 'task', 'ls', '--column', column)
  return (columns as { cards: Card[] }[]).flatMap(({ cards }) => cards.map(({ title }) => title))
}

describe('a card', () => {
  test('goes from draft to done, and both see what became of it', async () => {
    const { card_id: id, column, roles } = await task('alice', 'create', 'Count the orders of May')
    expect([column, roles]).toEqual(['draft', ['creator']])
    const steps: [Who, string[], string, string][] = [
      ['alice', ['move', id, 'ready'], 'ready', 'open'],
      ['bob', ['claim', id], 'in_progress', 'claimed'],
      ['bob', ['block', id, '--note', 'no numbers yet'], 'blocked', 'claimed'],
      ['alice', ['unblock', id], 'in_progress', 'claimed'],
      ['bob', ['submit', id, '--note', '412 orders'], 'in_review', 'submitted'],
      ['alice', ['reject', id, '--note', 'June is in it too'], 'in_progress', 'claimed'],
      ['bob', ['submit', id, '--note', '399 orders'], 'in_review', 'submitted'],
      ['alice', ['accept', id], 'done', 'accepted'],
    ]
    for (const [who, args, now, state] of steps)
      expect(await task(who, ...args)).toMatchObject({ card_id: id, column: now, state })
    const board = await run('bob', 'task', 'ls', '--mine', '--human')
    expect(board.stdout).toMatch(
      /\n\ndone \(1\):\nCARD ID .* TITLE .*\n\S+ +Count the orders of May +alice +you /,
    )
    const shown = await run('bob', 'task', 'show', id, '--human')
    expect(shown.stdout).toMatch(/creator +alice A/)
    expect(shown.stdout).toMatch(/\nalice, \S+ \([^)]*\): reject\n {4}June is in it too\nyou, /)
  })

  test('that somebody has, that is for others, or that is not there is refused with what to do next', async () => {
    const id = await made('Only one can have it')
    await task('bob', 'claim', id)
    expect(await refused('alice', 'claim', id)).toEqual({
      code: 1,
      stderr: `svc: wrong_state: you cannot claim this card now: it is in in_progress, made by you, taken by ${aids['bob']}\ntry: svc task show ${id}\n`,
    })
    expect(await refused('bob', 'accept', id)).toEqual({
      code: 1,
      stderr: `svc: not_for_you: this card is not for you to accept: made by alice, taken by you\ntry: svc task show ${id}\n`,
    })
    expect(await refused('bob', 'show', 'nowhere')).toEqual({
      code: 1,
      stderr: 'svc: unknown_card: the task board has no card of this id\ntry: svc task ls\n',
    })
    expect(await refused('alice', 'move', id, 'done')).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('expected draft, backlog or ready'),
    })
    expect(await refused('alice', 'create', 'two\nlines')).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('bad_request: title: expected one line'),
    })
    await task('bob', 'submit', id)
  })

  test('is the fourth in progress of nobody', async () => {
    const ids: string[] = []
    for (const title of ['one', 'two', 'three', 'four']) ids.push(await made(title))
    for (const id of ids.slice(0, 3)) await task('bob', 'claim', id)
    const fourth = ids[3] as string
    expect(await refused('bob', 'claim', fourth)).toEqual({
      code: 1,
      stderr: [
        'svc: wrong_state: its assignee has as many cards in progress as the hub lets one have',
        'next: submit one of them first:',
        'try: svc task ls --mine --column in_progress\n',
      ].join('\n'),
    })
    for (const id of ids.slice(0, 3)) await task('bob', 'submit', id)
    expect(await task('bob', 'claim', fourth)).toMatchObject({ column: 'in_progress' })
    await task('bob', 'submit', fourth)
  })
})

describe('an answer that is lost', () => {
  test('makes no second card: the order is shown again as it was signed', async () => {
    between.lose(1)
    await made('Told once')
    const sent = between.signatures('/tasks/create')
    expect([sent.length, new Set(sent).size]).toEqual([2, 1])
    expect((await titles('ready')).filter(title => title === 'Told once')).toHaveLength(1)
  })

  test('again and again makes none either, where the command is given once more', async () => {
    between.lose(3)
    const create = ['create', 'Told twice', '--column', 'ready']
    const { code, stderr } = await refused('alice', ...create)
    expect([code, stderr]).toEqual([1, expect.stringContaining('whether the card was made is not known')])
    expect(stderr).toContain('try: svc task ls --mine')
    await task('alice', ...create)
    expect(new Set(between.signatures('/tasks/create')).size).toBe(1)
    expect((await titles('ready')).filter(title => title === 'Told twice')).toHaveLength(1)
  })

  test('makes none where the node was killed meanwhile, or its key rotated', async () => {
    between.lose(3)
    const create = ['create', 'Told after a kill', '--column', 'ready']
    await refused('alice', ...create)
    const { pid } = await world.svc('alice', 'status')
    process.kill(Number(pid), 'SIGKILL')
    await world.startNode('alice')
    await world.svc('alice', 'id', 'rotate')
    await task('alice', ...create)
    expect(new Set(between.signatures('/tasks/create')).size).toBe(1)
    expect((await titles('ready')).filter(title => title === 'Told after a kill')).toHaveLength(1)
  })

  test('of an action changes nothing twice', async () => {
    const id = await made('Claimed once')
    between.lose(2)
    expect(await task('bob', 'claim', id)).toMatchObject({ column: 'in_progress', roles: ['assignee'] })
    expect(between.signatures('/tasks/claim')).toHaveLength(3)
    const { events } = await world.svc('bob', 'task', 'show', id)
    expect((events as { action: string }[]).map(({ action }) => action)).toEqual(['create', 'claim'])
    await task('bob', 'submit', id)
  })
})

test('a hub of wire 3 has no task board, says one sentence', async () => {
  const sealed = await world.startHub({}, '127.0.0.1:0', ['--admission', 'open'], 'home')
  const env = { ...world.env('alice'), SVC_HOME: world.dir('home', 'carol') }
  const svc = (...args: string[]) => world.run(programs.svc, args, env, world.root, PROOF_WITHIN_MS)
  try {
    expect((await svc('up', '--hub', sealed.url, '--name', 'carol')).code).toBe(0)
    for (const args of [['ls'], ['create', 'a'], ['claim', 'x'], ['show', 'x']]) {
      const { code, stderr, stdout } = await svc('task', ...args)
      expect([code, stdout]).toEqual([1, ''])
      expect(stderr.split('\n').slice(0, 2)).toEqual([
        'svc: no_board: the hub of this node has no task board',
        'next: give the task to an agent:',
      ])
    }
  } finally {
    await svc('stop')
  }
})
