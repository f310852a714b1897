// project: programs

/** What a program sees that answers inside bubblewrap. */
import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { execBackend } from './exec.ts'
import { runProgram } from './run-program.ts'
import { confined, findSandbox, NO_SANDBOX, type Sandbox } from './sandbox.ts'
import { random, requestOf } from './testing.ts'

const env = { PATH: process.env['PATH'] ?? '' }
const found = findSandbox(env)
const never = new AbortController().signal
const OWN = ['bots/answer.mjs', 'bots/words.mjs']

let root: string
let home: string
beforeAll(() => {
  root = mkdtempSync(join(tmpdir(), 'svc-sandbox-'))
  home = join(root, 'home')
  for (const folder of ['home/bots', 'home/.ssh', 'node']) mkdirSync(join(root, folder), { recursive: true })
  for (const path of ['home/.ssh/id_ed25519', 'home/notes.txt', 'node/identity.kel', 'home/bots/near.txt'])
    writeFileSync(join(root, path), 'a secret')
})
afterAll(() => rmSync(root, { recursive: true, force: true }))

/** What a program finds that tries each of these paths, and whether it can write and reach an address. */
async function tries(
  sandbox: Sandbox,
  paths: string[],
  url = 'http://127.0.0.1:1',
  own = home,
  owners = own,
) {
  writeFileSync(
    join(home, OWN[0] as string),
    `import fs from 'node:fs'
     import { words } from './words.mjs'
     const can = work => { try { work(); return true } catch { return false } }
     const read = ${JSON.stringify(paths)}.filter(path => can(() => fs.readFileSync(path)))
     const wrote = ['.', process.env.HOME, '/tmp'].filter(path => can(() => fs.writeFileSync(path + '/mark', '')))
     const net = await fetch(${JSON.stringify(url)}).then(() => true, () => false)
     const others = fs.readdirSync('/proc').filter(name => /^[0-9]+$/.test(name)).length
     console.log(JSON.stringify({ words, read, wrote: wrote.length, net, others, home: process.env.HOME }))`,
  )
  writeFileSync(join(home, OWN[1] as string), "export const words = 'from beside'")
  const backend = execBackend({
    agent: undefined,
    command: `"${process.execPath}" "${join(own, 'bots', 'answer.mjs')}"`,
    extraArgs: [],
    model: undefined,
    openclawAgent: undefined,
    tools: 'none',
    workRoot: join(root, 'node', 'autoreply'),
    sandbox,
    hidden: [join(root, 'node')],
    env: { ...env, HOME: owners },
    random,
  })
  const { text } = await backend.reply(requestOf('x'), never)
  return JSON.parse(text) as { words: string; read: string[]; wrote: number; net: boolean; others: number }
}

const secrets = () =>
  ['home/.ssh/id_ed25519', 'home/notes.txt', 'node/identity.kel'].map(path => join(root, path))

// Many containers do not allow it; a node says then what is not held, and so does this.
if (found.kind === 'none') {
  test(`nothing holds a program here: ${found.why}`, () => expect(found.why).toMatch(/bubblewrap/))
} else
  describe('a command in bubblewrap', () => {
    test('sees its own files and none of the home or of the node, and no other process', async () => {
      const { words, read, wrote, others } = await tries(found, [
        ...secrets(),
        '/etc/shadow',
        '/root/.bashrc',
      ])
      expect({ words, read, wrote }).toEqual({ words: 'from beside', read: [], wrote: 3 })
      expect(others).toBeLessThan(5)
      expect(readdirSync(join(root, 'node', 'autoreply'))).toEqual([])
    })

    test('sees no more where the home is a link, or the command names where it leads', async () => {
      const linked = join(root, 'linked-home')
      symlinkSync(home, linked)
      const through = ['.ssh/id_ed25519', 'notes.txt'].map(path => join(linked, path))
      for (const [named, owners] of [
        [linked, linked],
        [home, linked],
        [linked, home],
      ] as const) {
        expect((await tries(found, [...secrets(), ...through], undefined, named, owners)).read).toEqual([])
      }
    })

    test('is asked to end before it is ended', async () => {
      const own = join(root, 'own')
      const folder = join(root, 'run')
      for (const path of [own, join(folder, 'work')]) mkdirSync(path, { recursive: true })
      const script =
        'trap "sleep 0.3; echo > $0/ended; exit 0" TERM; echo > $0/ready; while :; do sleep 0.05; done'
      const given = { env, folder, hidden: [], named: [], alone: [], own: [own], network: false }
      const enough = new AbortController()
      const running = runProgram(confined(found.program, ['/bin/sh', '-c', script, own], given), {
        name: 'sh',
        cwd: join(folder, 'work'),
        env: { PATH: env.PATH },
        stdin: '',
        signal: enough.signal,
        isHeld: true,
      })
      running.catch(() => {})
      await vi.waitUntil(() => existsSync(join(own, 'ready')), { timeout: 60_000 })
      enough.abort()
      await expect(running).rejects.toThrow('took too long')
      expect(readdirSync(own).sort()).toEqual(['ended', 'ready'])
    })

    test('that is a link of a version manager in the home says which path to name', async () => {
      const shims = join(home, '.pyenv', 'shims')
      mkdirSync(shims, { recursive: true })
      writeFileSync(join(shims, 'python9'), `#!/bin/sh\nexec "${home}/.pyenv/libexec/pyenv" exec "$0"\n`, {
        mode: 0o755,
      })
      const backend = execBackend({
        agent: undefined,
        command: 'python9 -V',
        extraArgs: [],
        model: undefined,
        openclawAgent: undefined,
        tools: 'none',
        workRoot: join(root, 'node', 'autoreply'),
        sandbox: found,
        hidden: [join(root, 'node')],
        env: { PATH: `${shims}:${env.PATH}`, HOME: home },
        random,
      })
      await expect(backend.reply(requestOf('x'), never)).rejects.toThrow(
        /ended with 127: .*python9 is started from your home.*\/usr\/bin\/python3.*--no-sandbox/s,
      )
    })

    test('reaches no network', async () => {
      const server = createServer((_, response) => response.end()).listen(0, '127.0.0.1')
      await new Promise(resolve => server.once('listening', resolve))
      const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
      expect((await tries(found, [], url)).net).toBe(false)
      expect((await tries(NO_SANDBOX, [], url)).net).toBe(true)
      server.close()
    })

    test('a script in the home itself is shown alone', async () => {
      const script = join(home, 'alone.mjs')
      writeFileSync(
        script,
        "import fs from 'node:fs'; console.log(fs.readdirSync(import.meta.dirname, { recursive: true }).filter(name => name.includes('.')).sort().join())",
      )
      symlinkSync(script, join(root, 'linked.mjs'))
      for (const path of [script, join(root, 'linked.mjs')]) {
        const backend = execBackend({
          agent: undefined,
          command: `"${process.execPath}" "${path}"`,
          extraArgs: [],
          model: undefined,
          openclawAgent: undefined,
          tools: 'none',
          workRoot: join(root, 'node', 'autoreply'),
          sandbox: found,
          hidden: [join(root, 'node')],
          env: { ...env, HOME: home },
          random,
        })
        expect((await backend.reply(requestOf('x'), never)).text).toBe(
          path === script ? 'alone.mjs' : 'home/alone.mjs,linked.mjs',
        )
      }
    })
  })

test('without one it sees what its owner sees', async () => {
  expect((await tries(NO_SANDBOX, secrets())).read).toEqual(secrets())
})

test('where bubblewrap is missing or does not work, that is said', () => {
  expect(findSandbox({ PATH: '/nowhere' })).toEqual({
    kind: 'none',
    why: 'bubblewrap (bwrap) is not installed',
  })
  const bin = join(root, 'bin')
  mkdirSync(bin)
  writeFileSync(
    join(bin, 'bwrap'),
    '#!/bin/sh\necho "bwrap: No permissions to create new namespace" >&2; exit 1\n',
    {
      mode: 0o755,
    },
  )
  expect(findSandbox({ PATH: bin })).toEqual({
    kind: 'none',
    why: 'bubblewrap does not work here (bwrap: No permissions to create new namespace)',
  })
})
