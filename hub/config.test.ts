/** The configuration: which source wins, and that every value out of bounds is refused by name. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { readConfig } from './config.ts'
import { ConfigRefused } from './config-refused.ts'
import { limitsShape } from './limits-config.ts'

let folder: string
let file: string
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'svc-hub-config-'))
  file = join(folder, 'hub.json')
})
afterAll(() => rmSync(folder, { recursive: true }))

type Read = ReturnType<typeof readConfig>
function fromFile(content: unknown): Read {
  writeFileSync(file, typeof content === 'string' ? content : JSON.stringify(content))
  return readConfig({ config: file }, {})
}

function refusal(read: () => Read): string {
  try {
    read()
  } catch (error) {
    if (error instanceof ConfigRefused) return error.message
    throw error
  }
  return 'accepted'
}

describe('strength', () => {
  const rows: [
    string,
    string,
    keyof Parameters<typeof readConfig>[0],
    string,
    string,
    string,
    (c: Read) => unknown,
  ][] = [
    ['listen', 'SVC_HUB_LISTEN', 'listen', 'a:1', 'b:2', 'c:3', c => `${c.listen.host}:${c.listen.port}`],
    ['base_url', 'SVC_HUB_BASE_URL', 'baseUrl', 'https://a', 'https://b', 'https://c', c => c.baseUrl],
    ['data_dir', 'SVC_HUB_DATA_DIR', 'dataDir', '/a', '/b', '/c', c => c.dataDir],
    ['docs', 'SVC_HUB_DOCS', 'docs', '/a', '/b', '/c', c => c.docs],
    [
      'operator_listen',
      'SVC_HUB_OPERATOR_LISTEN',
      'operatorListen',
      'a:1',
      'b:2',
      'c:3',
      c => `${c.operatorListen?.host}:${c.operatorListen?.port}`,
    ],
  ]
  test.each(rows)(
    'of %s rises from the file over %s to the flag',
    (member, variable, flag, low, middle, high, of) => {
      writeFileSync(file, JSON.stringify({ [member]: low }))
      expect(of(readConfig({ config: file }, {}))).toBe(low)
      expect(of(readConfig({ config: file }, { [variable]: middle }))).toBe(middle)
      expect(of(readConfig({ config: file, [flag]: high }, { [variable]: middle }))).toBe(high)
    },
  )

  test('what the hub says of itself is taken from the file, and from the environment before it', () => {
    writeFileSync(
      file,
      JSON.stringify({ name: 'One', abuse: 'abuse@hub.example', terms: 'https://a.example/t' }),
    )
    const env = { SVC_HUB_NAME: 'Two', SVC_HUB_CONTACT: 'https://b.example/' }
    expect(readConfig({ config: file }, env).about).toEqual({
      name: 'Two',
      contact: 'https://b.example/',
      abuse: 'abuse@hub.example',
      terms: 'https://a.example/t',
    })
  })

  test('limits of the environment stand over those of the file, each for itself', () => {
    writeFileSync(file, JSON.stringify({ limits: { mailbox_envelopes: 10, session_quota: 20 } }))
    const { limits } = readConfig({ config: file }, { SVC_HUB_LIMITS: '{"session_quota": 30}' })
    expect([limits.mailboxEnvelopesMax, limits.sessionQuota]).toEqual([10, 30])
  })

  test('without any setting the hub listens on this machine only, and nobody watches', () => {
    const config = readConfig({}, {})
    expect(config.listen).toEqual({ host: '127.0.0.1', port: 8088 })
    expect([config.baseUrl, config.operatorListen]).toEqual([undefined, undefined])
  })
})

describe('bounds', () => {
  test.each(Object.keys(limitsShape.shape))(
    'limits.%s is taken up to its edges; beyond, file, member and bound are named',
    member => {
      const set = (value: unknown): string => refusal(() => fromFile({ limits: { [member]: value } }))
      const bound = (value: number): number => Number(/; use (\d+) or (?:more|less)$/.exec(set(value))?.[1])
      const [least, most] = [bound(-1), bound(Number.MAX_SAFE_INTEGER)]
      expect(set(least)).toBe('accepted')
      expect(set(most)).toBe('accepted')
      expect(set(least - 1)).toBe(`${file}: limits.${member} is too small; use ${least} or more`)
      expect(set(most + 1)).toBe(`${file}: limits.${member} is too large; use ${most} or less`)
      for (const strange of ['1', 1.5, true]) expect(set(strange)).toContain(`${file}: limits.${member} `)
    },
  )

  test.each([
    [{ listen: '127.0.0.1' }, 'listen: expected host:port, got 127.0.0.1; use a port from 0 to 65535'],
    [{ listen: '[::1]:65536' }, 'listen: expected host:port, got [::1]:65536'],
    [{ checkpoint_witnesses: [{ url: 'x', key: 'y' }] }, 'checkpoint_witnesses: expected a URL, got x'],
    [
      { checkpoint_witnesses: [{ url: 'https://witness.example', key: 'y' }] },
      'checkpoint_witnesses: expected the verifier key of a witness',
    ],
    [{ operator_listen: 'x:y' }, 'operator_listen: expected host:port, got x:y'],
    [
      { operator_listen: '127.0.0.1:8088' },
      "operator_listen: the operator's listener can't share the hub's address; give it",
    ],
    [
      { base_url: 'hub.example' },
      'base_url: expected a URL of scheme, host and port alone, got hub.example; write it as https://host or https://host:port',
    ],
    [{ name: ' ' }, 'name: expected a name of 1 to 80 characters without control characters; correct it'],
    [{ name: 'a\u202eb' }, 'name: expected a name'],
    [{ contact: 'nobody' }, 'contact: expected an e-mail address or a URL, got nobody; write it as'],
    [{ abuse: 'a@b?subject=x' }, 'abuse: expected an e-mail address or a URL'],
    [{ terms: 'javascript:alert(1)' }, 'terms: expected a URL, got javascript:alert(1); write it as https'],
    [{ source: 'me@hub.example' }, 'source: expected a URL'],
    [{ wire: 2 }, 'wire has a value that is not supported'],
    [{ limits: { nonsense: 1 } }, 'unknown setting: limits.nonsense; remove it or correct its name'],
    [{ lisTen: 1 }, 'unknown setting: lisTen'],
  ])('%j is refused', (content, why) => {
    expect(refusal(() => fromFile(content))).toContain(`${file}: ${why}`)
  })

  test('a file that is not JSON, holds a member twice or is missing is refused', () => {
    expect(refusal(() => fromFile('{'))).toContain(`${file}: `)
    expect(refusal(() => fromFile('{"wire": 3, "wire": 3}'))).toMatch(/wire/)
    expect(refusal(() => readConfig({ config: join(folder, 'none') }, {}))).toMatch(
      /does not exist; name another/,
    )
  })

  test('the environment and flags are named as such', () => {
    expect(refusal(() => readConfig({}, { SVC_HUB_LISTEN: 'x' }))).toMatch(
      /^SVC_HUB_LISTEN: expected host:port, got x/,
    )
    expect(refusal(() => readConfig({ listen: 'x' }, {}))).toMatch(/^--listen: expected host:port, got x/)
    expect(refusal(() => readConfig({ wire: '2' }, {}))).toMatch(
      /^--wire: this release serves wire 3 or 1, not wire 2/,
    )
    expect(refusal(() => readConfig({}, { SVC_HUB_LIMITS: '{"pow_bits": 1}' }))).toBe(
      'SVC_HUB_LIMITS: pow_bits is too small; use 22 or more',
    )
    expect(refusal(() => readConfig({}, { SVC_HUB_NONSENSE: '1' }))).toMatch(
      /^unknown setting: SVC_HUB_NONSENSE/,
    )
  })

  test.each([
    ['ftp://hub.example'],
    ['https://hub.example/svc'],
    ['https://hub.example//'],
    ['https://hub.example/?a'],
    ['https://hub.example/?'],
    ['https://hub.example/#a'],
    ['https://hub.example#'],
    ['https://me@hub.example', 'https://…@hub.example'],
    ['https://me:secret@hub.example', 'https://…@hub.example'],
    ['https://:secret@hub.example', 'https://…@hub.example'],
  ])('base_url %s is refused, since the hub serves at the root of a host alone', (text, shown = text) => {
    const expected = `--base-url: expected a URL of scheme, host and port alone, got ${shown}; write it as https://host or https://host:port`
    expect(refusal(() => readConfig({ baseUrl: text }, {}))).toBe(expected)
  })

  test('base_url takes a host with or without a port, and a slash at its end', () => {
    const base = (text: string) => readConfig({ baseUrl: text }, {}).baseUrl
    expect(base('https://hub.example')).toBe('https://hub.example')
    expect(base('https://Hub.Example:443/')).toBe('https://hub.example')
    expect(base('http://[::1]:8088/')).toBe('http://[::1]:8088')
  })

  test('listen takes a host name, an IPv4 and an IPv6 address, and port 0', () => {
    const listen = (text: string) => readConfig({ listen: text }, {}).listen
    expect(listen('localhost:80')).toEqual({ host: 'localhost', port: 80 })
    expect(listen('[::1]:8088')).toEqual({ host: '::1', port: 8088 })
    expect(listen(':0')).toEqual({ host: '0.0.0.0', port: 0 })
  })
})

test('a folder, and a file that is not there, are refused as such, with what to give', () => {
  const missing = join(folder, 'missing.json')
  expect(refusal(() => readConfig({ config: folder }, {}))).toBe(
    `the configuration file ${folder} is a folder; name a file with --config`,
  )
  expect(refusal(() => readConfig({ config: missing }, {}))).toBe(
    `the configuration file ${missing} does not exist; name another with --config`,
  )
})

test('a hub serves the wire that is named, wherever that is, and this release its own where none is', () => {
  const read = [readConfig({}, {}), readConfig({ wire: '3' }, {}), fromFile({ wire: 3 })]
  expect(read.map(({ wires }) => wires)).toEqual([[3], [3], [3]])
  expect([readConfig({ wire: '1' }, {}), fromFile({ wire: 1 })].map(({ wires }) => wires)).toEqual([[1], [1]])
})

test('wire 1 has a listener of its own beside wire 3, with its own URL', () => {
  const given = { wire1Listen: '127.0.0.1:8087', wire1BaseUrl: 'https://old.example' }
  const place = { listen: { host: '127.0.0.1', port: 8087 }, baseUrl: 'https://old.example' }
  expect(readConfig(given, {})).toMatchObject({ wires: [3], wire1: place })
  expect(fromFile({ wire1_listen: '127.0.0.1:8087', wire1_base_url: 'https://old.example' })).toMatchObject({
    wire1: place,
  })
  expect(readConfig({}, { SVC_HUB_WIRE1_LISTEN: '127.0.0.1:8087' }).wire1).toMatchObject({
    baseUrl: undefined,
  })
  expect(refusal(() => readConfig({ ...given, wire: '1' }, {}))).toBe(
    '--wire1-listen: the first listener speaks wire 1 already; leave it out, or serve wire 3 with the first one',
  )
  expect(refusal(() => readConfig({ wire1Listen: '127.0.0.1:8088' }, {}))).toBe(
    "--wire1-listen: wire 1 can't share the address of the first listener; give it a port of its own",
  )
  expect(refusal(() => readConfig({ wire1BaseUrl: 'https://old.example' }, {}))).toBe(
    '--wire1-base-url: no listener of wire 1 is configured; set wire1_listen as well',
  )
  expect(refusal(() => readConfig({ ...given, operatorListen: '127.0.0.1:8087' }, {}))).toMatch(
    /operator's listener can't share/,
  )
})

test('guests are let in where a file, a variable or a flag says so, and only over wire 1', () => {
  const wire1 = { wire: '1' }
  const read = (env: Record<string, string>, more: object = {}) =>
    readConfig({ ...wire1, ...more }, env).guests
  expect([read({}), read({ SVC_HUB_GUESTS: 'on' }), read({ SVC_HUB_GUESTS: 'off' })]).toEqual([
    ...[false, true, false],
  ])
  expect(read({ SVC_HUB_GUESTS: 'off' }, { guests: 'on' })).toBe(true)
  expect(fromFile({ wire: 1, guests: true }).guests).toBe(true)
  expect(readConfig({ wire1Listen: '127.0.0.1:8087', guests: 'on' }, {}).guests).toBe(true)
  expect(refusal(() => readConfig({ guests: 'on' }, {}))).toBe(
    '--guests: guests come over wire 1, which this hub does not serve; serve it with --wire 1, or beside wire 3 with --wire1-listen',
  )
  expect(refusal(() => readConfig(wire1, { SVC_HUB_GUESTS: 'yes' }))).toBe(
    'SVC_HUB_GUESTS: expected on or off, got yes; correct it',
  )
  expect(refusal(() => fromFile({ guests: 'true' }))).toBe(
    `${file}: guests must be true or false; correct it`,
  )
})

test('mail of wire 1 crosses to other hubs once that is said, and who is here is told by a second switch', () => {
  const wire1 = { wire: '1', wire1Federation: 'on' }
  expect(readConfig({ wire: '1' }, {}).wire1Federation).toBeUndefined()
  expect(readConfig(wire1, {}).wire1Federation).toEqual({ tells: false })
  expect(readConfig({ ...wire1, wire1Discovery: 'on' }, {}).wire1Federation).toEqual({ tells: true })
  const both = { wire1_federation: true, wire1_discovery: true }
  expect(fromFile({ wire: 1, ...both }).wire1Federation).toEqual({ tells: true })
  expect(fromFile({ wire1_listen: '127.0.0.1:8087', ...both }).wire1Federation).toEqual({ tells: true })
  const off = { SVC_HUB_WIRE: '1', SVC_HUB_WIRE1_FEDERATION: 'off' }
  expect(readConfig({}, off).wire1Federation).toBeUndefined()
  expect(readConfig({ wire1Federation: 'on' }, off).wire1Federation).toEqual({ tells: false })
  expect(refusal(() => readConfig({ wire1Federation: 'on' }, {}))).toBe(
    '--wire1-federation: this hub does not serve wire 1; set wire1_listen as well, or serve wire 1 alone',
  )
  expect(refusal(() => readConfig({ wire: '1', wire1Discovery: 'on' }, {}))).toBe(
    '--wire1-discovery: no mail of wire 1 crosses to other hubs; set wire1_federation as well',
  )
  expect(refusal(() => readConfig({}, { SVC_HUB_WIRE1_DISCOVERY: 'yes' }))).toBe(
    'SVC_HUB_WIRE1_DISCOVERY: expected on or off, got yes; correct it',
  )
  expect(refusal(() => fromFile({ wire1_federation: 'on' }))).toBe(
    `${file}: wire1_federation must be true or false; correct it`,
  )
})

test('a wire that is not served is refused with those that are, wherever it is given', () => {
  expect(refusal(() => fromFile({ wire: 2 }))).toBe(
    `${file}: wire has a value that is not supported; use 3 or 1`,
  )
  expect(refusal(() => readConfig({ wire: '2' }, {}))).toMatch(/this release serves wire 3 or 1, not wire 2/)
})
