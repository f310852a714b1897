/** Listing a peer by its addresses: each is asked who is there, and both have to be one hub. */
import { afterAll, beforeAll, expect, test } from 'vitest'
import { EXIT_FAILED, EXIT_USAGE } from '../terminal.ts'
import { startTestHub, type TestHub } from '../testing/hub.ts'
import { main } from './main.ts'

let here: TestHub
let both: TestHub
let old: TestHub
beforeAll(async () => {
  here = await startTestHub()
  both = await startTestHub({ wire1: { listen: { host: '127.0.0.1', port: 0 }, baseUrl: undefined } })
  old = await startTestHub({ wires: [1] })
})
afterAll(() => Promise.all([here, both, old].map(hub => hub.close())))

/** One command, with what it says on its standard error; what it prints is not shown. */
async function peers(...given: string[]): Promise<{ code: number; err: string }> {
  const said: string[] = []
  const streams = [process.stdout, process.stderr]
  const writes = streams.map(({ write }) => write)
  const say = (text: unknown): boolean => said.push(String(text)) > 0
  process.stdout.write = () => true
  process.stderr.write = say
  const io = { out: () => undefined, err: (text: string) => void say(text) }
  const code = await main(['peers', ...given, '--data-dir', here.directory, '--json'], io).finally(() => {
    for (const [at, stream] of streams.entries()) stream.write = writes[at] as typeof stream.write
  })
  return { code, err: said.join('') }
}
const listed = () => here.running.hub.context.peers.all.map(({ aid, log: _, ...peer }) => [aid, peer])
const openUrl = () => both.running.wire1?.url ?? ''

test('a hub of both wires has both addresses, one of wire 1 alone has one', async () => {
  expect(await peers('add', both.url, '--wire1-url', openUrl(), '--yes', both.aid)).toEqual({
    code: 0,
    err: '',
  })
  expect(await peers('add', '--wire1-url', old.url, '--yes', old.aid)).toEqual({ code: 0, err: '' })
  expect(listed()).toEqual([
    [both.aid, { url: both.url, openUrl: openUrl() }],
    [old.aid, { url: old.url, openUrl: old.url, isOpenOnly: true }],
  ])
})

test('two addresses of two hubs are refused, as is one where nobody answers over wire 1, or without a URL', async () => {
  const two = await peers('add', both.url, '--wire1-url', old.url, '--yes', both.aid)
  expect([two.code, two.err]).toEqual([EXIT_FAILED, expect.stringContaining('name two addresses of one hub')])
  const none = await peers('add', '--wire1-url', 'http://127.0.0.1:9', '--yes', here.aid)
  expect([none.code, none.err]).toEqual([
    EXIT_FAILED,
    expect.stringContaining('no usable answer over wire 1'),
  ])
  const other = await peers('add', '--wire1-url', old.url, '--yes', both.aid)
  expect([other.code, other.err]).toEqual([EXIT_FAILED, expect.stringContaining(`not ${both.aid}`)])
  for (const given of [['add'], ['ls', '--wire1-url', old.url], ['add', both.url, '--wire1-url', 'x']])
    expect((await peers(...given)).code).toBe(EXIT_USAGE)
})

test('a hub that speaks the other wire at an address is named with the command that lists it', async () => {
  const earlier = await peers('add', old.url)
  expect([earlier.code, earlier.err]).toEqual([
    EXIT_FAILED,
    expect.stringContaining(
      `${old.url} speaks wire 1 there; list it with: svc-hub peers add --wire1-url ${old.url}`,
    ),
  ])
  const newer = await peers('add', '--wire1-url', here.url)
  expect([newer.code, newer.err]).toEqual([
    EXIT_FAILED,
    expect.stringContaining(
      `${here.url} speaks wire 3 there; ask its operator where it speaks wire 1, or list it with: svc-hub peers add ${here.url}`,
    ),
  ])
})
