/** The model of an attack beside other users of this machine, who find its port and may read command lines. */
import { randomBytes } from 'node:crypto'
import { request } from 'node:http'
import { connect } from 'node:net'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { ANSWER, type RecordingModel, startRecordingModel } from './recording-model.ts'

const TASK = 'Add one, two and three, please.'
const SECRET = 'what nobody may be sent'
let model: RecordingModel
let port: number

beforeEach(async () => {
  const call = { name: 'Bash', args: { command: 'true' } }
  model = await startRecordingModel({ task: TASK, words: [SECRET], calls: [call] })
  port = Number(new URL(model.url).port)
})
afterEach(() => model.close())

const asked = (text: string) => ({ tools: [{ name: 'Bash' }], messages: [{ role: 'user', content: text }] })

/** The status, and what the model says: a call or words. */
async function ask(base: string, text: string): Promise<[status: number, said: string]> {
  const body = JSON.stringify(asked(text))
  const response = await fetch(`${base}/v1/messages`, { method: 'POST', body })
  const said = await response.text()
  return [response.status, said.includes('tool_use') ? 'call' : said.includes(ANSWER) ? 'words' : said]
}

/** What comes back for these bytes on a connection of their own. */
const raw = (bytes: string | Uint8Array) =>
  new Promise<string>(resolve => {
    let said = ''
    const socket = connect(port, '127.0.0.1', () => socket.write(bytes))
    socket.setEncoding('latin1').on('data', text => {
      said += text
    })
    socket.on('error', () => {}).on('close', () => resolve(said))
  })

test('who does not know the secret path changes nothing: the agent gets its calls, and nothing is heard', async () => {
  const origin = new URL(model.url).origin
  for (const base of [origin, `${origin}/${'0'.repeat(32)}`, model.url.slice(0, -1)])
    expect(await ask(base, `${TASK} ${SECRET}`)).toEqual([404, ''])
  expect(await raw('POST // HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\n')).toBe('')
  expect(await raw('GET http://[ HTTP/1.1\r\nHost: x\r\n\r\n')).not.toContain('200')
  await raw(randomBytes(4096))
  expect([...model.heard, ...model.offered]).toEqual([])

  expect(await ask(model.url, TASK)).toEqual([200, 'call'])
  expect(await ask(model.url, `${TASK} ${SECRET}`)).toEqual([200, 'words'])
  expect([...model.heard]).toEqual([TASK, SECRET])
})

test('who knows the path but not the task takes none of the calls from the agent', async () => {
  expect(await ask(model.url, 'hello')).toEqual([200, 'words'])
  expect(await ask(model.url, TASK)).toEqual([200, 'call'])
})

test('each call has an id of its own, because an agent makes none a second time', async () => {
  const call = { name: 'Bash', args: {} }
  const talking = await startRecordingModel({ task: TASK, words: [], calls: () => call })
  const idOf = async (path: string) => {
    const body = JSON.stringify(asked(TASK))
    const said = await (await fetch(`${talking.url}/v1/${path}`, { method: 'POST', body })).text()
    return /"(?:call_)?id":"(call_\w+)"/.exec(said)?.[1] ?? ''
  }
  const paths = ['messages', 'messages', 'responses', 'responses', 'chat/completions', 'chat/completions']
  const ids: string[] = []
  for (const path of paths) ids.push(await idOf(path))
  expect(new Set(ids).size).toBe(paths.length)
  expect(talking.seen).toMatchObject({ requests: 6, calls: paths.map(() => 'Bash') })
  await talking.close()
})

test('no body makes it hold more than it allows, and it goes on', async () => {
  const sent = new Promise<void>(resolve => {
    const stranger = request(`${model.url}/v1/messages`, { method: 'POST' })
    stranger.on('error', () => {}).on('close', () => resolve())
    stranger.end(Buffer.alloc(17 * 1024 * 1024))
  })
  await sent
  expect(await ask(model.url, '{'.repeat(1000))).toEqual([200, 'words'])
  const broken = fetch(`${model.url}/v1/messages`, { method: 'POST', body: '{' })
  await expect(broken).rejects.toThrow()
  expect(await ask(model.url, TASK)).toEqual([200, 'call'])
})
