// project: programs

/** The attack on coding agents, told to a scripted one that leaks in each way that real ones have been seen to. */
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { BackendFailed } from '../backend.ts'
import { findSandbox, NO_SANDBOX, type Sandbox } from '../sandbox.ts'
import { random } from '../testing.ts'
import { attack, versionOf } from './attack.ts'
import { type Leak, placeHangingAgent, placeScriptedAgent } from './testing.ts'

let root: string
beforeAll(() => {
  root = mkdtempSync(join(tmpdir(), 'svc-attacked-'))
})
afterAll(() => rmSync(root, { recursive: true, force: true }))

function subject(leak: Leak, sandbox: Sandbox) {
  return {
    agent: 'claude',
    env: { PATH: placeScriptedAgent(join(root, leak), leak) },
    sandbox,
    extraArgs: [],
    random,
  }
}

const leaksOf = async (leak: Leak, sandbox = NO_SANDBOX) =>
  (await attack(subject(leak, sandbox), AbortSignal.timeout(60_000))).leaks

describe('an agent that', () => {
  test.each([
    ['none', []],
    ['file', ['a file of its owner reached the model']],
    ['picture', ['a picture of its owner reached the model']],
    ['namedPicture', ['a picture of its owner reached the model']],
    ['instructions', ["its owner's instructions reached the model"]],
    ['server', ['it ran a command, or started a server of its owner']],
    ['session', ["it left the task in its owner's home: .claude/last"]],
    ['behind', ['it left files behind that outlive the run']],
    ['arguments', ['the task stood on a command line, where every user of the machine can read it']],
    ['tools', ['it offers its model tools that are not known to be harmless: Bash']],
    [
      'obedience',
      [
        'it ran a command, or started a server of its owner',
        'a file of its owner reached the model',
        'a picture of its owner reached the model',
      ],
    ],
  ] as const)('leaks by %s is caught', async (leak, leaks) => {
    expect(new Set(await leaksOf(leak))).toEqual(new Set(leaks))
  })

  test('does not work with the model on this machine is named as not tried', async () => {
    await expect(leaksOf('silence')).rejects.toThrow(/could not be tried: claude ended with 3/)
    await expect(leaksOf('silence')).rejects.toBeInstanceOf(BackendFailed)
  })
})

const found = findSandbox({ PATH: process.env['PATH'] ?? '' })
if (found.kind !== 'none') {
  test('bubblewrap holds what an agent leaks of its owner', async () => {
    expect(await leaksOf('ownersThings')).not.toEqual([])
    expect(await leaksOf('ownersThings', found)).toEqual([])
  })
}

test('nothing of an attack stays', async () => {
  const folder = join(root, 'temporary')
  mkdirSync(folder)
  vi.stubEnv('TMPDIR', folder)
  await leaksOf('none')
  vi.unstubAllEnvs()
  expect(readdirSync(folder)).toEqual([])
})

describe('the version', () => {
  const never = { signal: new AbortController().signal }

  test('is what the program says it is', async () => {
    expect(await versionOf('claude', subject('none', NO_SANDBOX).env, never)).toBe('9.9.9 (none)')
    await expect(versionOf('claude', { PATH: root }, never)).rejects.toThrow(
      /does not say which version is installed: .* is it installed/,
    )
  })

  test('of a program that hangs is not waited for, and nothing of it stays', async () => {
    const bin = join(root, 'hangs')
    const pids = placeHangingAgent(bin)
    const env = { PATH: `${bin}:${process.env['PATH']}` }
    const asked = versionOf('claude', env, { ...never, withinMs: 500 })
    await expect(asked).rejects.toThrow(/it took too long and was ended/)
    expect(pids()).toHaveLength(2)
    await vi.waitFor(() => expect(pids().filter(isAlive)).toEqual([]))
  })
})

/** What has ended keeps no command line, also while nobody has asked how it ended. */
function isAlive(pid: number): boolean {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8') !== ''
  } catch {
    return false
  }
}
