/** The README's first conversation: its commands, in its order, from two homes, on the built programs. */
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { World } from '../cli/demo/world.ts'

const root = new URL('..', import.meta.url).pathname
const programs = { svc: join(root, 'dist', 'svc.js'), hub: join(root, 'hub', 'dist', 'svc-hub.js') }
const LOOK_MS = 100
const LOOKS_MAX = 100
const PUBLIC_HUB = 'https://hub.example'

type Step = { who: 'alice' | 'bob'; line: string }

/** The lines of the section, each with the person whose block it stands in. */
function readSteps(): Step[] {
  const section = readFileSync(join(root, 'README.md'), 'utf8')
    .split('\n## ')
    .find(part => part.startsWith('Start a node and join a hub'))
  const blocks = [...(section ?? '').matchAll(/```sh\n# (Bob|Alice).*\n([\s\S]*?)```/g)]
  return blocks.flatMap(([, name = '', body = '']) =>
    body
      .trim()
      .split('\n')
      .map(line => ({ who: name.toLowerCase() as 'alice' | 'bob', line })),
  )
}

/** The words of a line as a shell would hand them over. */
const words = (line: string) =>
  (line.match(/"[^"]*"|\S+/g) ?? []).map(word => word.replace(/^"(.*)"$/, '$1')).slice(2)

let world: World
let hubUrl: string
const known: Record<string, string> = {}

beforeAll(async () => {
  world = new World(programs)
  hubUrl = (await world.startHub()).url
})
afterAll(async () => {
  for (const name of ['alice', 'bob'] as const) await world.run(programs.svc, ['stop'], world.env(name))
  await world?.[Symbol.asyncDispose]()
})

async function say({ who, line }: Step): Promise<Record<string, unknown>> {
  const argv = words(line.replaceAll(PUBLIC_HUB, hubUrl)).map(word =>
    word.replace(/^<(\w+)>$/, (_, name: string) => known[name] ?? `<${name}>`),
  )
  expect(argv.join(' ')).not.toMatch(/<\w+>/)
  const ran = await world.run(programs.svc, argv, world.env(who), world.dir('home'))
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

test('every command of it does what the text says', async () => {
  writeFileSync(world.dir('home', 'README.md'), '# Readme\n')
  const done: string[] = []
  for (const step of readSteps()) {
    const command = words(step.line)[0] as string
    const reply = await follow(step, command)
    learn(command, reply)
    if (command === 'up') await world.hub('admit', String(reply['aid']))
    done.push(command)
  }
  for (const command of ['find', 'delegate', 'approve', 'message', 'results', 'key-history', 'evidence'])
    expect(done).toContain(command)
  expect(done.filter(command => command === 'verify').length).toBe(5)
})

function follow(step: Step, command: string): Promise<Record<string, unknown>> {
  switch (command) {
    case 'find':
      return sayUntil(step, reply => (reply['agents'] as unknown[]).length === 1)
    case 'inbox':
      return sayUntil(step, reply => items(reply).length === 1)
    case 'accept-end':
      return acceptOnceProposed(step)
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

/** What a reader takes from an output for the commands that follow, and what the text promises of it. */
function learn(command: string, reply: Record<string, unknown>): void {
  if (command === 'find') known['aid'] = (reply['agents'] as { aid: string }[])[0]?.aid as string
  if (command === 'delegate') known['id'] = String(reply['interaction_id'])
  if (command === 'key-history') known['kel'] = String(reply['kel'])
  if (command === 'pull') known['file'] = String(reply['result_file'])
  if (command === 'results') expect(items(reply)[0]?.text).toBe('Three findings, and one open question.')
  if (command !== 'verify') return
  if (reply['file'] === undefined) expect(reply).toMatchObject({ verdict: 'valid' })
  else expect(readFileSync(String(reply['file']), 'utf8')).toContain("default-src 'none'")
  if (reply['receipt'] !== undefined) known['receipt'] = String(reply['receipt'])
  else if (reply['content_checked']) expect(reply).toMatchObject({ result_matches: true })
}
