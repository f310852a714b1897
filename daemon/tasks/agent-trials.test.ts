import { existsSync, mkdtempSync, readFileSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import type { Attacked } from '../../autoreply/attack/attack.ts'
import { NO_SANDBOX, type Sandbox } from '../../autoreply/sandbox.ts'
import { buildInfo } from '../../protocol/build-info.ts'
import type { AutoReplyConfig } from '../../protocol/control/auto-reply-config.ts'
import { type TestNode, TestWorld } from '../testing/node.ts'
import { AgentRecords } from './agent-records.ts'
import { AgentTrials } from './agent-trials.ts'

const VERSION = '1.2.3 (scripted)'
const signal = new AbortController().signal
const claude: AutoReplyConfig = { backend: 'exec', agent: 'claude' }

let world: TestWorld
let bob: TestNode
let bin: string
/** What the next attack finds, and how many there were. */
let leaks: string[]
let attacks: number

beforeEach(async () => {
  world = new TestWorld()
  bob = await world.node('bob')
  bin = mkdtempSync(join(tmpdir(), 'agents-'))
  leaks = []
  attacks = 0
})
afterEach(() => world[Symbol.asyncDispose]())

const file = () => join(bob.ctx.dir, 'autoreply-tried.json')
/** The program of an agent, of which only its version is asked. */
function placeAgent(): void {
  writeFileSync(join(bin, 'claude'), `#!/bin/sh\necho '${VERSION}'\n`, { mode: 0o755 })
}
async function attack({ agent }: { agent: string }): Promise<Attacked> {
  attacks++
  return { agent, version: VERSION, leaks }
}
const trials = (env: Record<string, string> = { PATH: bin }) => {
  const { dir, chain, hub, random } = bob.ctx
  return new AgentTrials({ dir, records: new AgentRecords(chain, hub), random }, env, attack)
}
type Given = { change?: object; unsafe?: boolean; sandbox?: Sandbox; of?: AgentTrials }
const requires = (
  config: AutoReplyConfig,
  { change = config, unsafe = false, sandbox = NO_SANDBOX, of = trials() }: Given = {},
) => of.require(config, change, { unsafe, sandbox, signal })
const trial = (changes: object = {}) =>
  JSON.stringify({
    agent: 'claude',
    version: VERSION,
    walls: 'none',
    args: [],
    svc: buildInfo.version,
    ...changes,
  })
const kept = (...passed: unknown[]) => writeFileSync(file(), JSON.stringify(passed))

describe('an agent is tried before it answers', () => {
  test.each<[string, AutoReplyConfig]>([
    ['its owner lets use tools', { ...claude, tools: 'read' }],
    ['is a program of its owner', { ...claude, command: 'cat' }],
    ['is a model behind an address', { ...claude, backend: 'openai' }],
    ['nobody knows how to attack', { ...claude, agent: 'nobody' }],
    ['is none', { backend: 'exec' }],
  ])('but not one that %s', async (_, config) => {
    await requires(config)
    const attacked = trials().attack(config, NO_SANDBOX, signal)
    await expect(attacked).rejects.toThrow('only a coding agent without tools can be attacked')
  })

  test.each(['backend', 'agent', 'extra_args', 'tools', 'sandbox'])(
    'where a change names its %s, and not where it names something else',
    async member => {
      await requires(claude, { change: { poll_interval_seconds: 5 } })
      const tried = requires(claude, { change: { poll_interval_seconds: 5, [member]: undefined } })
      await expect(tried).rejects.toThrow(/claude --version .* is it installed for this user\?/)
    },
  )

  test('also where its tools are named as none', async () => {
    await expect(requires({ ...claude, tools: 'none' })).rejects.toThrow('is it installed')
  })

  test('but not where something stands in for it', async () => {
    await requires(claude, { of: trials({ SVC_EXEC_COMMAND: 'cat' }) })
  })
})

describe('an agent that passed', () => {
  beforeEach(placeAgent)

  test('is not tried again', async () => {
    kept(trial())
    await requires(claude)
    expect(attacks).toBe(0)
  })

  test.each<[string, object, Partial<AutoReplyConfig>, Sandbox]>([
    ['in another version', { version: '1.2.2 (scripted)' }, {}, NO_SANDBOX],
    ['for another release of this program', { svc: '0.0.1' }, {}, NO_SANDBOX],
    ['with other arguments', {}, { extra_args: ['--fast'] }, NO_SANDBOX],
    ['behind other walls', {}, {}, { kind: 'bubblewrap', program: '/nowhere/bwrap' }],
  ])('%s is tried anew', async (_, passed, changes, sandbox) => {
    kept(trial(passed))
    await requires({ ...claude, ...changes }, { sandbox })
    expect(attacks).toBe(1)
  })

  test.each(['{', '{"a":1}', '[1, null]', '"claude"'])(
    'is tried anew where what was kept is unreadable: %s',
    async content => {
      writeFileSync(file(), content)
      await requires(claude)
      expect(attacks).toBe(1)
    },
  )
})

describe('an attack', () => {
  beforeEach(placeAgent)
  const LEAK = 'a file of its owner reached the model'
  const records = () =>
    bob.ctx.chain.read({ eventType: 'svc.autoreply.unsafe' }).map(record => record['payload'])

  test('that an agent withstands is kept as the newest of fifty, and not made again', async () => {
    const old = Array.from({ length: 50 }, (_, n) => `trial ${n}`)
    kept(...old)
    const walls: Sandbox = { kind: 'bubblewrap', program: '/usr/bin/bwrap' }
    expect(await trials().attack(claude, walls, signal)).toEqual({
      agent: 'claude',
      version: VERSION,
      leaks: [],
      sandbox: 'bubblewrap',
    })
    const passed = [...old.slice(1), trial({ walls: 'bubblewrap' })]
    expect(JSON.parse(readFileSync(file(), 'utf8'))).toEqual(passed)
    await requires(claude, { sandbox: walls })
    expect(attacks).toBe(1)
  })

  test('that was withstood before is kept once', async () => {
    kept(trial(), 'another')
    await trials().attack(claude, NO_SANDBOX, signal)
    expect(JSON.parse(readFileSync(file(), 'utf8'))).toEqual(['another', trial()])
  })

  test('that an agent does not withstand lets it answer nobody, each time anew', async () => {
    leaks = [LEAK, 'it left files behind that outlive the run']
    for (const count of [1, 2]) {
      await expect(requires(claude)).rejects.toThrow(
        `claude ${VERSION} does not withstand an attack by the task it answers: ${leaks.join('; ')}; use another agent or version, or insist with --unsafe`,
      )
      expect(attacks).toBe(count)
    }
    expect(existsSync(file())).toBe(false)
    expect(records()).toEqual([])
  })

  test('that found one leak alone counts as well, unless the owner insists, which is recorded', async () => {
    leaks = [LEAK]
    await expect(requires(claude)).rejects.toThrow('does not withstand')
    await requires(claude, { unsafe: true })
    expect(records()).toMatchObject([{ agent: 'claude', version: VERSION, leaks }])
  })

  test('leaves no record where nothing leaked, nor in an older copy, which signs nothing', async () => {
    leaks = [LEAK]
    bob.ctx.hub.oldCopy = 'a newer copy was seen'
    await requires(claude, { unsafe: true })
    bob.ctx.hub.oldCopy = undefined
    leaks = []
    await requires(claude, { unsafe: true })
    expect([attacks, records()]).toEqual([2, []])
  })
})
