/** For tests: the built svc-hub with its operator's page, and a hub's life behind it. */
import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { promisify } from 'node:util'
import type { TestHub } from '../../hub/testing/hub.ts'
import { openReviewUpload } from '../../hub/testing/open-reviews.ts'
import { type OpenAgent, Wire1Client } from '../../hub/testing/wire1.ts'
import { toBase64, utf8 } from '../../protocol/encoding/bytes.ts'

const PROGRAM = new URL('../../hub/dist/svc-hub.js', import.meta.url).pathname
export const TOKEN = 'the-token-of-this-operator'

/** Words that would move, run or forge something where they were taken for more than text. */
export const HOSTILE = `<img src=x onerror="document.title='ran'"><script>document.title='ran'</script> {{7*7}}`

export type OperatorWorld = {
  /** Where the page is. */
  url: string
  aid: string
  client: Wire1Client
  /** Runs a command of the program on this hub; what it printed. */
  command(...args: string[]): Promise<Record<string, unknown>>
  /** What the hub wrote to its log. */
  said(): string
  close(): Promise<void>
}

/** Starts `svc-hub serve --wire 1 --admin-listen`; `more` are further arguments. */
export async function openOperatorWorld(...more: string[]): Promise<OperatorWorld> {
  const folder = mkdtempSync(join(tmpdir(), 'svc-operator-'))
  const dataDir = join(folder, 'data')
  const given = ['--wire', '1', '--listen', '127.0.0.1:0', '--admin-listen', '127.0.0.1:0', ...more]
  const child = spawn(process.execPath, [PROGRAM, 'serve', '--data-dir', dataDir, ...given], {
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { ...process.env, ADMIN_TOKEN: TOKEN },
  })
  let log = ''
  child.stderr.on('data', chunk => {
    log += String(chunk)
  })
  const lines = await announced(child, () => log)
  const found = (pattern: RegExp): string => pattern.exec(lines)?.[1] ?? ''
  const command: OperatorWorld['command'] = async (...args) => {
    const run = promisify(execFile)(process.execPath, [PROGRAM, ...args, '--data-dir', dataDir])
    return JSON.parse((await run).stdout)
  }
  const order = ({ command: name, aid }: { command: string; aid: string }) => command(name, aid)
  const hub = {
    url: found(/serves wire 1 at (\S+)/),
    clock: { now: () => Date.now() },
    running: { order },
  } as unknown as TestHub
  return {
    url: found(/page of the operator at (\S+)/),
    aid: found(/hub AID (\S+)/),
    client: new Wire1Client(hub),
    command,
    said: () => log,
    async close() {
      child.kill('SIGTERM')
      if (child.exitCode === null) await once(child, 'exit')
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

/** What a start says, up to where the page is. */
async function announced(child: ChildProcess, log: () => string): Promise<string> {
  if (child.stdout === null) throw new Error('the program has no output')
  let said = ''
  for await (const line of createInterface({ input: child.stdout })) {
    said += `${line}\n`
    if (/page of the operator at/.test(line)) return said
  }
  throw new Error(`the hub did not start: ${said}${log()}`)
}

const AGENTS: [name: string, caps: string[], summary: string][] = [
  ['Ada reviews', ['code.review', 'code.security'], 'Reads a diff and names what breaks.'],
  ['Brevier', ['text.translate'], 'Translates between English, German and Portuguese.'],
  ['Cartographer', ['research', 'data.geo'], 'Finds open data about places.'],
  ['Dover', ['code.review', 'code.rust'], 'Unsafe Rust and FFI, one file at a time.'],
]

/** Agents with mail and a card on the board; one of them has words that are more than words elsewhere. */
export async function liveAtHub({ client }: OperatorWorld): Promise<OpenAgent[]> {
  const agents: OpenAgent[] = []
  for (const [name, caps, summary] of [...AGENTS, ['<b>Eve</b>', ['research'], HOSTILE] as const])
    agents.push(await client.registered({ name, caps: [...caps], summary, readme: `${summary}\n\nAsk me.` }))
  const [ada, brevier] = agents
  if (ada === undefined || brevier === undefined) throw new Error('nobody registered')
  for (const text of ['one', 'two', 'three'])
    await client.post('/relay/send', {
      ...{ to_aid: ada.aid, from_aid: brevier.aid, kind: 'message', interaction_id: 'i' },
      payload: toBase64(utf8(text)),
    })
  for (const agent of agents.slice(1, 4)) await agent.poll()
  for (const [reviewer, rating] of [
    [brevier, 5],
    [agents[2], 4],
    [brevier, 4],
  ] as const)
    if (reviewer !== undefined) await client.post('/reviews', openReviewUpload(reviewer, ada, { rating }))
  await client.post('/tasks/create', { ...ada.sign('task.create'), title: HOSTILE, column: 'ready' })
  return agents
}
