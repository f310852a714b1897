/** Next steps of refusals, as a person copies them: against a node in this process. */
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { readConfig, writeConfig } from '../daemon/home/config.ts'
import { type Node, startNode } from '../daemon/node.ts'
import { controlCodes } from '../protocol/control/codes.ts'
import { OperationRefused } from '../protocol/control/refusal.ts'
import { calledFor } from './as-called.ts'
import { dispatch } from './dispatch.ts'
import { findCommand } from './flags.ts'
import type { Io } from './io.ts'
import { runIn } from './testing.ts'

const folder = mkdtempSync(join(tmpdir(), 'svc-next-'))
let node: Node

beforeAll(async () => {
  writeConfig(folder, { ...readConfig(folder), control_addr: '127.0.0.1:0' })
  node = await startNode({ dir: folder, env: { SVC_RUNTIME_DIR: join(folder, 'run') }, name: 'default' })
})
afterAll(async () => {
  await node.stop()
  rmSync(folder, { recursive: true })
})

test('name the id that was given', async () => {
  const found = { row: findCommand(['decline']).row, words: ['-abc'] }
  const load = async () => async () => {
    throw new OperationRefused('wrong_state', 'it is closed', controlCodes.wrong_state.next)
  }
  const said: string[] = []
  const io = { program: 'svc', err: (text: string) => said.push(text) }
  const code = await dispatch(io as never, { ...found, row: { ...found.row, load } })
  expect([code, ...said]).toEqual([1, 'svc: wrong_state: it is closed\n', 'try: svc thread -abc\n'])
})

test('name the command that was refused', async () => {
  const refused = await runIn(folder, ['contact', 'add', 'nobody', 'bob'])
  expect(refused).toMatchObject({ code: 2, err: expect.stringMatching(/^svc: bad_request: /) })
  expect(refused.err.split('\n')[1]).toBe('try: svc help contact add')
  expect((await runIn(folder, ['help', 'contact', 'add'])).code).toBe(0)
})

test('say of an id that is none what one looks like', async () => {
  expect((await runIn(folder, ['thread', 'nope'])).err).toBe(
    'svc: bad_request: interaction_id: expected an interaction id: 22 characters, as inbox and results list it\ntry: svc help thread\n',
  )
})

test('of --id without a name is the help itself', async () => {
  expect((await runIn(folder, ['--id'])).err).toMatch(/\ntry: svc help\n$/)
})

describe('call the program as it was called,', () => {
  const npx = { program: 'npx svc', hints: true }

  test('in a refusal and in a hint', async () => {
    const unknown = await runIn(folder, ['contact', 'rm', 'nobody'], {}, npx)
    expect(unknown.err).toMatch(/\ntry: npx svc contact ls\n$/)
    const up = await runIn(folder, ['up'], {}, npx)
    expect(up.err).toBe('')
    expect((await runIn(folder, ['statu'], {}, npx)).err).toMatch(/\ntry: npx svc status\n$/)
  })

  test('in the warnings of a reply and in what a check names as its mend', async () => {
    const { out } = await runIn(folder, ['doctor'], {}, npx)
    const { findings } = JSON.parse(out) as { findings: { check: string; mend: string }[] }
    expect(findings.find(({ check }) => check === 'hub')?.mend).toBe(
      'npx svc hub-register <url> --name <name>',
    )
  })

  test('and the program of the hub from the same packages', () => {
    const called = (program: string) =>
      calledFor({ program } as Io, 'bob').asCalled(
        'svc-hub serve runs: svc-hub admit A (or svc-hub unblock A); svc hub-leave',
      )
    expect(called('npx svc')).toBe(
      'npx svc-hub serve runs: npx svc-hub admit A (or npx svc-hub unblock A); npx svc --id bob hub-leave',
    )
    expect(called('/opt/svc.js')).toMatch(/^svc-hub serve runs: svc-hub admit A \(or svc-hub unblock A\)/)
  })

  test('in the help, where it is not called by its name', async () => {
    const { out } = await runIn(folder, ['help'], {}, npx)
    expect(out).toContain('First steps\n  npx svc up\n  npx svc hub-register <url> --name <name>\n')
    expect(out).toContain('\nHere it is called: npx svc\n')
    expect((await runIn(folder, ['help', 'up'], {}, npx)).out).toContain(
      'example: npx svc up --hub https://hub.example --name alice\n',
    )
    expect((await runIn(folder, ['help'])).out).not.toContain('it is called')
  })

  test('with the identity that the line named, unless the step names one', async () => {
    const absent = (...argv: string[]) => runIn(folder, argv, {}, npx).then(({ err }) => err)
    mkdirSync(join(folder, 'ids', 'work'), { recursive: true })
    expect(await absent('--id', 'work', 'status')).toMatch(/\ntry: npx svc up work\n$/)
    expect(await absent('--id', 'work', 'logs')).toMatch(/\ntry: npx svc --id work up\n$/)
    expect(await absent('--id', 'work', 'status')).toContain(':\n  npx svc --id default status\n')
    expect(await absent('--id', 'play', 'up')).toMatch(/\ntry: npx svc id new play\n$/)
  })
})

test('to stop a node that does not run is done at once, and says which nodes run', async () => {
  const idle = mkdtempSync(join(tmpdir(), 'svc-idle-'))
  const none = await runIn(idle, ['stop'])
  expect([none.code, JSON.parse(none.out)]).toEqual([0, { stopped: [] }])
  expect(none.err).toMatch(/^svc: there is no identity in \S+ yet; no other node of yours is running\n$/)
  const other = await runIn(folder, ['stop', 'work'])
  expect([other.code, other.err]).toEqual([0, expect.stringContaining(':\n  svc --id default status\n')])
  expect((await runIn(folder, ['stop', 'nobody'])).code).toBe(1)
  rmSync(idle, { recursive: true })
})

test('a reply is shown to people where they ask for it, on the line or for all lines', async () => {
  const text = /^aid {2,}A\S{43}\n/
  expect((await runIn(folder, ['status', '--human'])).out).toMatch(text)
  expect((await runIn(folder, ['--human', 'status'], { SVC_OUTPUT: 'json' })).out).toMatch(text)
  expect((await runIn(folder, ['status'], { SVC_OUTPUT: 'human' })).out).toMatch(text)
  expect(JSON.parse((await runIn(folder, ['status'], { SVC_OUTPUT: '' })).out)).toHaveProperty('aid')
  expect(await runIn(folder, ['status'], { SVC_OUTPUT: 'tables' })).toMatchObject({
    code: 2,
    err: 'svc: expected json or human for SVC_OUTPUT, got "tables"\n',
  })
})
