// project: programs

/** docs/use/tutorial.md: every command, in order, on the built programs, with the output that it shows. */
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { World } from '../cli/demo/world.ts'
import { isShown, readBlocks, type Step, wordsOf } from './told-commands.ts'

const root = new URL('..', import.meta.url).pathname
const programs = { svc: join(root, 'dist', 'svc.js'), hub: join(root, 'hub', 'dist', 'svc-hub.js') }
const blocks = readBlocks(readFileSync(join(root, 'docs', 'use', 'tutorial.md'), 'utf8'))
const LOOK_MS = 100
const LOOKS_MAX = 300
const TOLD_HUB = 'http://127.0.0.1:8088'

let world: World
let hub: { url: string; printed: string }
const known: Record<string, string> = {}

beforeAll(async () => {
  world = new World(programs)
})
afterAll(async () => {
  for (const name of ['alice', 'bob'] as const) await world.run(programs.svc, ['stop'], world.env(name))
  await world[Symbol.asyncDispose]()
})

type Reply = Record<string, unknown>

/** A word in angle brackets is in the output of a command before. */
const filledIn = (word: string): string =>
  word.replace(/^<(\w+)>$/, (all, name: string) => known[name] ?? all)

async function type({ who, line }: Step): Promise<string> {
  const argv = wordsOf(line.replaceAll(TOLD_HUB, hub?.url ?? '')).map(filledIn)
  expect(argv.join(' ')).not.toMatch(/<\w+>/)
  if (who === 'hub' || who === 'stranger') return typeForHub(argv)
  const ran = await world.run(programs.svc, argv, world.env(who), world.dir('home'))
  expect([line, ran.code, ran.stderr.replace(/.*made a new identity.*\n/, '')]).toEqual([line, 0, ''])
  return ran.stdout
}

async function typeForHub(argv: string[]): Promise<string> {
  if (argv[0] !== 'serve') return JSON.stringify(await world.hub(...argv), undefined, 2)
  hub = await world.startHub({}, '127.0.0.1:0', argv.slice(1))
  return hub.printed
}

/** Types it until the mail of the other side is there, as a reader who doesn't see it yet looks again. */
async function typeUntil(step: Step, isThere: (reply: Reply) => boolean): Promise<string> {
  for (let i = 0; i < LOOKS_MAX; i++, await pause(LOOK_MS)) {
    const printed = await type(step)
    if (isThere(JSON.parse(printed) as Reply)) return printed
  }
  throw new Error(`never there: ${step.line}`)
}

async function follow(step: Step): Promise<string> {
  const thread = { ...step, line: 'npx svc thread <id>' }
  switch (wordsOf(step.line)[0]) {
    case 'inbox':
      return typeUntil(step, reply => (reply['items'] as unknown[]).length === 1)
    case 'thread':
      return typeUntil(step, reply => (reply['actions'] as string[]).includes('accept_end'))
    case 'review':
      await typeUntil(thread, reply => reply['receipt'] !== undefined)
      return type(step)
    default:
      return type(step)
  }
}

/** What a reader takes from an output for the commands that follow. */
function learn({ who, line }: Step, printed: string): void {
  const command = wordsOf(line)[0]
  if (who === 'hub') return
  const reply = JSON.parse(printed) as Record<string, string>
  if (command === 'up' && who === 'bob') known['aid'] = reply['aid'] as string
  if (command === 'delegate') known['id'] = reply['interaction_id'] as string
}

async function play(steps: readonly Step[]): Promise<string[]> {
  const outputs: string[] = []
  for (const step of steps) {
    const printed = await follow(step)
    learn(step, printed)
    outputs.push(printed)
  }
  return outputs
}

test('each command of the tutorial prints the output that is shown below it', async () => {
  expect(blocks.every(({ shown }) => shown !== undefined)).toBe(true)
  for (const { steps, shown = '' } of blocks) {
    const outputs = await play(steps)
    const told = shown.replaceAll(TOLD_HUB, hub.url)
    expect([isShown(told, outputs), told, outputs]).toEqual([true, told, outputs])
  }
  const typed = blocks.flatMap(({ steps }) => steps.map(({ line }) => wordsOf(line)[0]))
  expect(typed.slice(0, 3)).toEqual(['serve', 'up', 'up'])
  expect(typed.filter(command => command === 'verify').length).toBe(4)
})

test('a letter that changed in the file of the answer makes the receipt invalid', async () => {
  const [proof, file] = ['proof.json', 'result.json'].map(name => world.dir('home', 'proof', name)) as [
    string,
    string,
  ]
  writeFileSync(file, readFileSync(file, 'utf8').replace('long', 'Long'))
  const offline = ['verify', '--proof', proof, '--result', file]
  const ran = await world.run(programs.svc, offline, world.env('alice'))
  expect([ran.code, JSON.parse(ran.stdout)]).toEqual([1, expect.objectContaining({ verdict: 'invalid' })])
})

describe('an output', () => {
  test.each([
    ['{ "a": 1, … }', '{\n  "a": 1,\n  "b": 2\n}\n', true],
    ['{ "a": "A1b…", … }', '{\n  "a": "Xyz",\n  "b": 2\n}\n', true],
    ['{ "a": 1, … }', '{\n  "a": 2,\n  "b": 2\n}\n', false],
    ['{ "a": 1 }', '{\n  "a": 1,\n  "b": 2\n}\n', false],
  ])('%s shows %j: %s', (shown, printed, is) => {
    expect(isShown(shown, [printed])).toBe(is)
  })
})
