// project: programs

/** The command line as a person's shell treats it: pipes, odd environments, texts from standard input. */
import { execFileSync, spawnSync } from 'node:child_process'
import { chownSync, existsSync, mkdirSync, mkdtempSync, readFileSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { World } from '../cli/demo/world.ts'

type Reply = Record<string, unknown>

const root = new URL('..', import.meta.url).pathname
const program = join(root, 'dist', 'svc.js')
let world: World
let own: string

beforeAll(async () => {
  world = new World({ svc: program, hub: '' })
  own = String((await world.startNode('alice'))['aid'])
})
afterAll(() => world?.[Symbol.asyncDispose]())

const svc = (...args: string[]) => world.run(program, args, world.env('alice'))

test('a reader that goes away ends no command with a trace', () => {
  const script = `"${process.execPath}" "${program}" help --all | head -n 1`
  const ran = spawnSync('bash', ['-o', 'pipefail', '-c', script], { encoding: 'utf8' })
  expect([ran.status, ran.stderr, ran.stdout.split('\n').length]).toEqual([0, '', 2])
})

test.each([
  [['delegate', 'bob', ' '], 'expected a task'],
  [['delegate', 'bob'], 'expected a task'],
  [['hub-register', 'http://127.0.0.1:1', '--wire', '2'], 'expected 1 or 3 for --wire'],
  [['hub-register', 'http://127.0.0.1:1', '--guest-messages', '10001'], 'at most 10000'],
  [['up', 'nobody'], 'there is no identity "nobody"'],
  [['inbox', '--cursor', 'junk'], 'cursor: expected the next_cursor or the new_cursor of the reply before'],
  [['results', '--cursor', '1.'], 'cursor: expected the next_cursor or the new_cursor of the reply before'],
  [['watch', '--since', 'junk'], 'since: expected the id of an event, a whole number'],
])('%j is refused', async (args, sentence) => {
  const ran = await svc(...args)
  expect([ran.code, ran.stdout]).toEqual([args[0] === 'up' ? 1 : 2, ''])
  expect(ran.stderr).toContain(sentence)
  expect(existsSync(world.dir('alice', 'ids', 'nobody'))).toBe(false)
})

test('one cannot be one’s own contact', async () => {
  expect((await svc('contact', 'add', own, 'me')).stderr).toContain('the AID of this node itself')
})

test('- takes the text from standard input, which must be UTF-8', () => {
  const ask = (input: Buffer | string, ...args: string[]) =>
    spawnSync(process.execPath, [program, ...args], { env: world.env('alice'), input, encoding: 'utf8' })
      .stderr
  const id = 'A'.repeat(22)
  for (const args of [
    ['message', id, '-'],
    ['message', id, '--file', '-'],
    ['delegate', own, '-'],
  ]) {
    expect(ask(Buffer.from([0xff]), ...args)).toContain(
      'not UTF-8 text\nnext: send it as a file: --attach PATH',
    )
    expect(ask('', ...args)).toContain('expected a t')
  }
  expect(ask('words', 'message', id, '-')).toContain('unknown_interaction')
})

test('a file that a flag names with @ must be there and be UTF-8', async () => {
  const file = join(world.dir('alice'), 'readme.txt')
  const missing = await svc('profile', 'set', '--readme', `@${file}`)
  expect(missing.stderr).toBe(
    `svc: --readme: cannot read ${file}: there is no such file\nnext: check the path\n`,
  )
  writeFileSync(file, Buffer.from([0x61, 0xff]))
  const refused = await svc('profile', 'set', '--readme', `@${file}`)
  expect([refused.code, refused.stderr]).toEqual([
    1,
    `svc: ${file} is not UTF-8 text\nnext: save it as UTF-8\n`,
  ])
  writeFileSync(file, 'Grüße')
  expect(JSON.parse((await svc('profile', 'set', '--readme', `@${file}`)).stdout)).toMatchObject({
    readme: 'Grüße',
  })
})

test('an empty HOME means the home of the user, not the folder of the shell', () => {
  const cwd = mkdtempSync(join(tmpdir(), 'svc-empty-home-'))
  const env = { PATH: process.env['PATH'], HOME: '', SVC_RUNTIME_DIR: world.dir('run') }
  const listed = execFileSync(process.execPath, [program, 'id', 'ls'], { cwd, env, encoding: 'utf8' })
  expect(listed).not.toContain(cwd)
  expect(existsSync(join(cwd, '.cache'))).toBe(false)
})

const unlisted = { uid: 54_321, gid: 54_321 }
const reads = `require('node:fs').accessSync(${JSON.stringify(program)})`
/** Only root may run a program as somebody else, and that one must reach this folder. */
const runsUnlisted =
  process.getuid?.() === 0 && spawnSync(process.execPath, ['-e', reads], unlisted).status === 0

test.runIf(runsUnlisted)('a user who stands in no list of users needs HOME, or is told so', () => {
  const cwd = mkdtempSync('/tmp/svc-unlisted-')
  chownSync(cwd, unlisted.uid, unlisted.gid)
  const runs = (env: Record<string, string>) =>
    spawnSync(process.execPath, [program, 'id', 'ls'], {
      ...unlisted,
      cwd,
      env: { PATH: process.env['PATH'], ...env },
      encoding: 'utf8',
    })
  for (const env of [{ HOME: cwd }, { HOME: cwd, SVC_HOME: join(cwd, 'own') }])
    expect(runs(env)).toMatchObject({ status: 0, stderr: '' })
  const refused = runs({})
  expect([refused.status, refused.stderr]).toEqual([1, 'svc: this user has no home directory; set HOME\n'])
})

test('settings that do nothing in this build are named at the start, and in status', async () => {
  const env = world.env('bob')
  const dir = world.dir('bob')
  mkdirSync(dir, { recursive: true, mode: 0o700 })
  const config = { control_addr: '127.0.0.1:0', modules: { shell: { allow_local: true } } }
  writeFileSync(join(dir, 'config.json'), JSON.stringify(config), { mode: 0o600 })
  const up = await world.run(program, ['up'], env)
  const warning = 'config.json: modules.shell has no effect in this build'
  try {
    expect([up.code, up.stderr]).toEqual([0, expect.stringContaining(`svc: ${warning}`)])
    const status = await world.run(program, ['status'], env)
    expect(JSON.parse(status.stdout)).toMatchObject({ warnings: expect.arrayContaining([warning]) })
    expect(readFileSync(join(dir, 'daemon.log'), 'utf8')).toContain(warning)
  } finally {
    await world.run(program, ['stop'], env)
  }
})

test('times in what people read stand there as RFC 3339 too', async () => {
  await svc('contact', 'add', 'AWsi2Pqf59Kzi3iYZVthg8j0vdQ2GBhgkrg_hcEG5Mkg', 'nobody')
  const { contacts } = JSON.parse((await svc('contact', 'ls')).stdout) as {
    contacts: { added_at: number; added_at_utc: string }[]
  }
  expect(contacts.length).toBe(1)
  for (const { added_at, added_at_utc } of contacts) expect(Date.parse(added_at_utc)).toBe(added_at)
})

test('id kel is the key history that the node shows, and needs no node', async () => {
  const shown = await svc('key-history')
  const read = await svc('id', 'kel')
  expect([read.code, JSON.parse(read.stdout)]).toEqual([0, JSON.parse(shown.stdout)])
  const none = await world.run(program, ['id', 'kel'], { ...world.env('bob'), SVC_HOME: world.dir('home') })
  expect([none.code, none.stderr]).toEqual([1, expect.stringContaining('there is no identity in ')])
})

test('profile set changes the capabilities', async () => {
  const ran = await svc('profile', 'set', '--caps', 'text.sum,text.count')
  expect(JSON.parse(ran.stdout)).toMatchObject({ caps: ['text.sum', 'text.count'] })
})

describe('output that does not arrive', () => {
  const shell = (script: string) =>
    spawnSync(
      'bash',
      ['-o', 'pipefail', '-c', script.replaceAll('SVC', `"${process.execPath}" "${program}"`)],
      {
        env: world.env('alice'),
        encoding: 'utf8',
      },
    )
  const nextKey = () => existsSync(world.dir('alice', 'identity.next'))

  test('is a failure of the command, in words', () => {
    for (const command of ['status', 'version', 'help --all', 'id ls', 'doctor']) {
      const ran = shell(`SVC ${command} > /dev/full`)
      expect([command, ran.status, ran.stderr]).toEqual([
        command,
        1,
        'svc: standard output could not be written: the disk is full\n',
      ])
    }
  })

  test('leaves the next key where it is', () => {
    for (const [goes, why] of [
      ['> /dev/full', 'standard output could not be written: the disk is full'],
      ['| exec 0<&-', 'standard output could not be written: its reader went away'],
      ['>&-', 'standard output goes nowhere'],
      ['> /dev/null', 'standard output goes nowhere'],
    ] as const) {
      const ran = shell(`SVC id next export --remove --yes ${goes}`)
      expect([goes, ran.status, nextKey()]).toEqual([goes, 1, true])
      expect(ran.stderr).toContain(why)
    }
  })

  test('and so does one that nobody confirmed', () => {
    const ran = shell('SVC id next export --remove < /dev/null')
    expect([ran.status, nextKey(), ran.stdout]).toEqual([2, true, ''])
    expect(ran.stderr).toContain('try: svc id next export --remove --yes')
  })

  test('and one that arrives takes it off the machine, which status and doctor mention', async () => {
    const file = world.dir('alice', 'phrase.json')
    expect(shell(`SVC id next export --remove --yes > "${file}"`).status).toBe(0)
    const said = JSON.parse(readFileSync(file, 'utf8')) as { recovery_phrase: string; removed: boolean }
    expect([said.removed, nextKey()]).toEqual([true, false])
    const absent = 'the next key is not on this machine'
    expect(JSON.stringify((await world.svc('alice', 'status'))['warnings'])).toContain(absent)
    expect((await svc('doctor')).stdout.split(absent)).toHaveLength(2)
    const refused = await svc('id', 'rotate')
    expect(refused.stderr).toContain('try: svc id next import < phrase.txt')
    const phrase = world.dir('alice', 'phrase.txt')
    writeFileSync(phrase, said.recovery_phrase)
    for (const taken of [phrase, file]) {
      expect(shell(`SVC id next import < "${taken}"`).status).toBe(0)
      expect(nextKey()).toBe(true)
      expect(shell('SVC id next export --remove --yes | cat > /dev/null').status).toBe(0)
      expect(nextKey()).toBe(false)
    }
    for (const text of ['{}', '{"recovery_phrase": 1}', '{"recovery_phrase": "'])
      expect(shell(`printf '%s' '${text}' | SVC id next import`).stderr).toContain('holds no recovery_phrase')
    expect(shell(`SVC id rotate --recovery-phrase-stdin < "${file}"`).status).toBe(0)
  })
})

test('a home that cannot be written is named, by doctor too', async () => {
  const file = world.dir('alice', 'a-file')
  writeFileSync(file, '')
  const folder = join(file, 'home')
  const there = (env: Record<string, string>, ...args: string[]) =>
    world.run(program, args, { ...world.env('alice'), ...env })
  const up = await there({ SVC_DATA_DIR: folder }, 'up')
  expect([up.code, up.stderr]).toEqual([1, expect.stringContaining(`the data directory ${folder} cannot be`)])
  const made = await there({ SVC_HOME: '/proc/x' }, 'id', 'new', 'second')
  expect([made.code, made.stderr]).toEqual([
    1,
    expect.stringContaining('directory /proc/x/ids/second cannot be'),
  ])
  const { code, stdout } = await there({ SVC_DATA_DIR: folder }, 'doctor')
  expect([code, stdout]).toEqual([1, expect.stringContaining(`${file} cannot be written`)])
})

test('an identity that is not there is said to be none', async () => {
  const { code, stderr } = await svc('status', '--id', 'typo')
  expect([code, stderr]).toEqual([
    1,
    expect.stringContaining(
      `svc: there is no identity "typo"; if you meant another node of yours that runs:\n`,
    ),
  ])
})

test('stop --all ends every node of this home and no other', async () => {
  const home = mkdtempSync(join(tmpdir(), 'svc-all-'))
  const env = { ...world.env('alice'), SVC_HOME: home }
  const there = async (...words: string[]) =>
    JSON.parse((await world.run(program, words, env)).stdout) as Reply
  await there('up')
  await there('id', 'new', 'second')
  const { stopped } = await there('stop', '--all')
  expect(stopped).toHaveLength(2)
  const { identities } = await there('id', 'ls')
  expect((identities as { running: boolean }[]).map(({ running }) => running)).toEqual([false, false])
  expect((await world.svc('alice', 'status'))['aid']).toBe(own)
})

test('a start that ends before it is ready says so with the end of its log, as where the chain was altered', async () => {
  const home = mkdtempSync(join(tmpdir(), 'svc-altered-'))
  const there = (...words: string[]) =>
    world.run(program, words, {
      PATH: process.env['PATH'] ?? '',
      HOME: home,
      SVC_RUNTIME_DIR: join(home, 'run'),
    })
  expect((await there('up')).code).toBe(0)
  expect((await there('stop')).code).toBe(0)
  writeFileSync(join(home, '.svc', 'evidence.ael.jsonl'), 'bm8gcmVjb3Jk\n')
  const { code, stdout, stderr } = await there('up')
  expect([code, stdout]).toEqual([1, ''])
  expect(stderr).toMatch(/evidence\.ael\.jsonl/)
  expect(readFileSync(join(home, '.svc', 'daemon.log'), 'utf8')).toContain('evidence.ael.jsonl')
})

test('a deactivated identity is named by status and doctor, which advise no hub', async () => {
  await svc('id', 'deactivate', '--yes')
  const over = 'this identity is deactivated'
  expect(JSON.stringify((await world.svc('alice', 'status'))['warnings'])).toContain(over)
  const { code, stdout } = await svc('doctor')
  expect([code, stdout]).toEqual([1, expect.stringContaining(over)])
  expect(stdout).not.toContain('hub-register')
})

const hasScript = spawnSync('script', ['--version']).status === 0

test.runIf(hasScript)('in a terminal a start names the next step that is possible', () => {
  const upIn = (name: 'alice' | 'bob') => {
    const env = { ...world.env(name), SVC_HINTS: '1', NO_COLOR: '1', TERM: 'dumb' }
    const command = `"${process.execPath}" "${program}"`
    const stop = () => spawnSync('bash', ['-c', `${command} stop`], { env })
    stop()
    const { stdout } = spawnSync('script', ['-qec', `${command} up`, '/dev/null'], { env, encoding: 'utf8' })
    stop()
    return /try: (.*)\r\n/.exec(stdout)?.[1]
  }
  expect([upIn('alice'), upIn('bob')]).toEqual(['svc id new <name>', 'svc hub-register <url> --name <name>'])
})

test.runIf(hasScript)('in a terminal a node without a hub offers the three ways on, once', () => {
  const home = world.dir('ways')
  mkdirSync(home, { mode: 0o700 })
  const env = { ...world.env('bob'), SVC_HOME: home, SVC_HINTS: '1', NO_COLOR: '1', TERM: 'dumb' }
  const command = `"${process.execPath}" "${program}"`
  const up = () => {
    const { stdout } = spawnSync('script', ['-qec', `${command} up`, '/dev/null'], { env, encoding: 'utf8' })
    spawnSync('bash', ['-c', `${command} stop`], { env })
    return [...stdout.matchAll(/try: (.*)\r\n/g)].map(([, next]) => next)
  }
  expect(up()).toEqual(['svc hub-register <url> --name <name>', 'svc-hub serve', 'svc demo'])
  expect(up()).toEqual(['svc hub-register <url> --name <name>', 'svc help'])
})

test.runIf(hasScript)(
  'in a terminal svc alone offers the ways on before there is a node, and once after it',
  () => {
    const home = world.dir('alone')
    mkdirSync(home, { mode: 0o700 })
    const env = { ...world.env('bob'), SVC_HOME: home, SVC_HINTS: '1', NO_COLOR: '1', TERM: 'dumb' }
    const command = `"${process.execPath}" "${program}"`
    const alone = () => {
      const { stdout } = spawnSync('script', ['-qec', command, '/dev/null'], { env, encoding: 'utf8' })
      expect(stdout).toContain('First steps')
      return [...stdout.matchAll(/try: (.*)\r\n/g)].map(([, next]) => next)
    }
    const ways = ['svc hub-register <url> --name <name>', 'svc-hub serve', 'svc demo']
    expect(alone()).toEqual(['svc up', ...ways])
    for (const line of ['up', 'stop']) spawnSync('bash', ['-c', `${command} ${line}`], { env })
    expect(alone()).toEqual(ways)
    expect(alone()).toEqual([])
  },
)

test.runIf(hasScript)(
  'in a terminal a command that waits for its reader says for what',
  () => {
    const env = { ...world.env('bob'), SVC_HINTS: '1', NO_COLOR: '1', TERM: 'dumb' }
    const command = `"${process.execPath}" "${program}"`
    const inTerminal = (line: string, input: string) => {
      const ran = spawnSync('script', ['-qec', line, '/dev/null'], {
        env,
        input,
        encoding: 'utf8',
        timeout: 300_000,
      })
      return ran.stdout
    }
    const shell = (line: string) => spawnSync('bash', ['-c', line], { env })
    shell(`${command} up`)
    const mcp = 'svc: serving MCP on standard input and output, for a coding agent to start;'
    expect(inTerminal(`${command} mcp`, '\u0004')).toContain(mcp)
    expect(inTerminal(`${command} watch & sleep 5; kill %1`, '')).toContain(
      'svc: waiting for events of the node;',
    )
    expect(inTerminal(`${command} delegate nobody -`, '\u0004')).toContain(
      'svc: reading the text from standard input;',
    )
    shell(`${command} stop`)
    expect(inTerminal(`${command} daemon --stdio`, '\u0004')).toContain(mcp)
  },
  180_000,
)

test.runIf(hasScript)(
  'in a terminal a passphrase is typed twice and never shown',
  () => {
    const env = { ...world.env('bob'), NO_COLOR: '1', TERM: 'dumb' }
    const backup = (file: string, input: string) => {
      const line = `stty -echo; "${process.execPath}" "${program}" backup "${file}"`
      return spawnSync('script', ['-qec', line, '/dev/null'], {
        env,
        input,
        encoding: 'utf8',
        timeout: 300_000,
      }).stdout
    }
    const file = join(mkdtempSync(join(tmpdir(), 'svc-typed-')), 'a.svc')
    const node = (command: string) => spawnSync(process.execPath, [program, command], { env })
    node('up')
    node('stop')
    const differing = backup(file, 'correct horse battery\ncorrect horse\n')
    expect(differing).toContain('svc: the two passphrases differ')
    expect(backup(file, '\n')).toContain('svc: no passphrase was given')
    const said = backup(file, 'correct horse battery\ncorrect horse battery\n')
    expect(said).toContain(`"archive": "${file}"`)
    expect(said.split('passphrase: ')[1]).not.toContain('correct horse')
  },
  180_000,
)
