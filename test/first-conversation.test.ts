// project: programs

/** The first conversation of the README and how docs/using.md goes on: every command, in order, on the built programs. */
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { World } from '../cli/demo/world.ts'
import { readSteps, type Step, wordsOf } from './told-commands.ts'

const root = new URL('..', import.meta.url).pathname
const programs = { svc: join(root, 'dist', 'svc.js'), hub: join(root, 'hub', 'dist', 'svc-hub.js') }
const LOOK_MS = 100
const LOOKS_MAX = 100
const PUBLIC_HUB = 'https://hub.example'
const LOCAL_HUB = 'http://127.0.0.1:8088'
/** From the top of the README to a receipt that somebody else verified; `npm ci` is the first of them. */
const COMMANDS_MAX = 10

const readme = readFileSync(join(root, 'README.md'), 'utf8').split('\n## ')
const first = readSteps(readme.find(part => part.startsWith('A first conversation')) ?? '')
const installing = readme.join('\n').match(/^npm ci.*$/gm) ?? []
const further = readSteps(readFileSync(join(root, 'docs', 'using.md'), 'utf8'))

let world: World
let hubUrl: string
const known: Record<string, string> = {}

beforeAll(async () => {
  world = new World(programs)
  const [serve, ...flags] = wordsOf(first.find(({ who }) => who === 'hub')?.line ?? '')
  expect(serve).toBe('serve')
  hubUrl = (await world.startHub({}, '127.0.0.1:0', flags)).url
})
afterAll(async () => {
  for (const name of ['alice', 'bob'] as const) await world.run(programs.svc, ['stop'], world.env(name))
  await world?.[Symbol.asyncDispose]()
})

async function say({ who, line }: Step): Promise<Record<string, unknown>> {
  if (who === 'hub') throw new Error(`not a command of a node: ${line}`)
  const argv = wordsOf(line.replaceAll(PUBLIC_HUB, hubUrl).replaceAll(LOCAL_HUB, hubUrl)).map(word =>
    word.replace(/<(\w+)>/g, (_, name: string) => known[name] ?? `<${name}>`),
  )
  expect(argv.join(' ')).not.toMatch(/<\w+>/)
  const { SVC_HOME: _, ...nobody } = world.env('alice')
  const env = who === 'stranger' ? nobody : world.env(who)
  const ran = await world.run(programs.svc, argv, env, world.dir('home'))
  expect([line, ran.code, ran.stderr.replace(/.*(?:not sealed|made a new identity).*\n/g, '')]).toEqual([
    line,
    0,
    '',
  ])
  return JSON.parse(ran.stdout) as Record<string, unknown>
}

/** A reader who sees that the other side's mail is not there yet looks again. */
async function sayUntil(step: Step, isThere: (reply: Record<string, unknown>) => boolean) {
  for (let i = 0; i < LOOKS_MAX; i++, await pause(LOOK_MS)) {
    const reply = await say(step)
    if (isThere(reply)) return reply
  }
  throw new Error(`never there: ${step.line}`)
}

type Items = { interaction_id: string; text?: string; receipt?: unknown }[]
const items = (reply: Record<string, unknown>) => reply['items'] as Items

async function play(steps: Step[]): Promise<string[]> {
  const done: string[] = []
  for (const step of steps) {
    const command = wordsOf(step.line)[0] as string
    const reply = await follow(step, command)
    learn(step, command, reply)
    done.push(command)
  }
  return done
}

test('ten commands lead to a receipt that is valid', async () => {
  expect(installing).toEqual(['npm ci'])
  const done = await play(first.filter(({ who }) => who !== 'hub'))
  expect([done.at(-1), first.at(-1)?.who, known['proof']]).toEqual(['verify', 'stranger', expect.any(String)])
  expect(installing.length + first.length).toBeLessThanOrEqual(COMMANDS_MAX)
})

test('the command that showed a receipt shows it again, to whoever repeats it', async () => {
  const step = first.findLast(({ line }) => line.includes('--offline'))
  expect(await say(step as Step)).toEqual(await say(step as Step))
})

test('an archived task leaves the list, is found among the archived, and comes back', async () => {
  const say = async (...argv: string[]) =>
    JSON.parse((await world.run(programs.svc, argv, world.env('bob'))).stdout)
  const listed = async (...flags: string[]) =>
    items(await say('inbox', ...flags)).map(one => one.interaction_id)
  const [id] = await listed()
  expect(await say('archive', String(id))).toEqual({ interaction_id: id, archived: true })
  expect([await listed(), await listed('--archived')]).toEqual([[], [id]])
  expect(await say('archive', String(id), '--off')).toEqual({ interaction_id: id, archived: false })
  expect([await listed(), await listed('--archived')]).toEqual([[id], []])
})

test('every command that follows does what the text says', async () => {
  writeFileSync(world.dir('home', 'README.md'), '# Readme\n')
  const done = await play(further)
  for (const command of ['find', 'delegate', 'approve', 'message', 'results', 'evidence'])
    expect(done).toContain(command)
  expect(done.filter(command => command === 'verify').length).toBe(6)
})

function follow(step: Step, command: string): Promise<Record<string, unknown>> {
  switch (command) {
    case 'find':
      return sayUntil(step, reply => (reply['agents'] as unknown[]).length === 1)
    case 'inbox':
      return sayUntil(step, reply => items(reply).length === 1)
    case 'accept-end':
      return acceptOnceProposed(step)
    case 'verify':
      return verifyOnceSigned(step)
    case 'results':
      return sayUntil(step, reply => items(reply)[0]?.receipt !== undefined)
    default:
      return say(step)
  }
}

async function acceptOnceProposed(step: Step) {
  const thread = { ...step, line: step.line.replace('accept-end', 'thread') }
  await sayUntil(thread, reply => (reply['actions'] as string[]).includes('accept_end'))
  return say(step)
}

/** Where the receipt of a task ended just now is not there yet, a reader looks again. */
async function verifyOnceSigned(step: Step) {
  if (step.who === 'stranger') return say(step)
  const id = known['id'] as string
  await sayUntil({ ...step, line: `npx svc thread ${id}` }, reply => reply['receipt'] !== undefined)
  return say(step)
}

/** What a reader takes from an output for the commands that follow, and what the text promises of it. */
function learn({ who }: Step, command: string, reply: Record<string, unknown>): void {
  if (command === 'up' && who === 'bob') known['aid'] = String(reply['aid'])
  if (command === 'find') known['aid'] = (reply['agents'] as { aid: string }[])[0]?.aid as string
  if (command === 'delegate') known['id'] = String(reply['interaction_id'])
  if (command === 'results') expect(items(reply)[0]?.text).toBe('Three findings, and one open question.')
  if (command !== 'verify') return
  if (reply['file'] === undefined) expect(reply).toMatchObject({ verdict: 'valid' })
  else expect(readFileSync(String(reply['file']), 'utf8')).toContain("default-src 'none'")
  const [proof] = (reply['files'] ?? []) as string[]
  if (proof !== undefined) known['proof'] = readFileSync(proof, 'utf8')
  else if (reply['receipt'] === undefined && reply['content_checked'])
    expect(reply).toMatchObject({ result_matches: true })
}
