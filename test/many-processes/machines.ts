/**
 * Machines of their own: each has files, processes and users that nobody else sees, and all of them are in one network with
 * nobody else. What is written there goes to memory, and ends with them.
 */
import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { setTimeout as pause } from 'node:timers/promises'

const root = new URL('../..', import.meta.url).pathname
/** Where a machine sees this checkout, whoever works there. */
export const CHECKOUT = '/mnt/checkout'
const START_MS = 20_000
const LOOK_MS = 20
const ALONE = ['--net', '--mount', '--pid', '--fork', '--kill-child', '--mount-proc']
const PATH = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin'
const SHELL = '/mnt/shell-$(id -u)'

/** Lets a program work in folders of the system as if they were its own. */
const OWN_FILES = `
mount -t tmpfs -o mode=1777 tmpfs /mnt
mkdir ${CHECKOUT} /mnt/home
mount --bind '${root}' ${CHECKOUT}
for place in etc srv usr var; do
  mkdir /mnt/$place /mnt/.$place
  mount -t overlay overlay -o lowerdir=/$place,upperdir=/mnt/$place,workdir=/mnt/.$place /$place
done
mount -t tmpfs -o mode=755 tmpfs /run`

/** Why there can be no machines here; undefined where there can. */
export function withoutMachines(): string | undefined {
  const asked = spawnSync('unshare', [...ALONE, 'bash', '-ec', `ip link add br0 type bridge\n${OWN_FILES}`])
  return asked.status === 0
    ? undefined
    : 'only root makes machines, where unshare, ip and overlayfs may be used'
}

export type Ran = { code: number | null; stdout: string; stderr: string }
type RunOptions = {
  as?: string
  /** What is typed, one at each prompt. */
  answers?: readonly string[]
}

/** Holds a namespace until it is killed, or until this process ends. */
async function hold(program: string, args: readonly string[], work: string): Promise<ChildProcess> {
  const child = spawn(program, [...args, 'bash', '-ec', `${work}\necho ready\nread -r _ || true`], {
    stdio: ['pipe', 'pipe', 'inherit'],
  })
  let isReady = false
  child.stdout.on('data', () => {
    isReady = true
  })
  for (let waited = 0; !isReady; waited += LOOK_MS) {
    if (waited > START_MS || child.exitCode !== null) throw new Error(`${program} made no machine`)
    await pause(LOOK_MS)
  }
  return child
}

export class Network {
  readonly #holder: ChildProcess
  readonly #machines: Machine[] = []

  private constructor(holder: ChildProcess) {
    this.#holder = holder
  }

  static async make(): Promise<Network> {
    return new Network(await hold('unshare', ['--net'], 'ip link add br0 type bridge\nip link set br0 up'))
  }

  /** One with its own addresses. */
  async machine(addresses: readonly string[]): Promise<Machine> {
    const machine = new Machine(await hold('unshare', ALONE, OWN_FILES))
    this.#machines.push(machine)
    const port = `port${this.#machines.length}`
    const cable = `ip link add ${port} type veth peer name eth0 netns ${machine.pid}`
    const plugged = `${cable}\nip link set ${port} master br0 up`
    const enter = ['-t', String(this.#holder.pid), '--net', 'bash', '-ec', plugged]
    const { status, stderr } = spawnSync('nsenter', enter, { encoding: 'utf8' })
    if (status !== 0) throw new Error(`no cable: ${stderr}`)
    await machine.must(`
      for link in lo eth0; do ip link set $link up; done
      for address in ${addresses.join(' ')}; do ip addr add $address/24 dev eth0; done
      echo 0 >/proc/sys/net/ipv4/ip_unprivileged_port_start`)
    return machine
  }

  async close(): Promise<void> {
    for (const machine of this.#machines) await machine.stop()
    this.#holder.kill('SIGKILL')
  }
}

export class Machine {
  readonly #holder: ChildProcess
  /** Of its first process, as seen from outside. */
  readonly pid: string

  constructor(holder: ChildProcess) {
    this.#holder = holder
    this.pid = readFileSync(`/proc/${holder.pid}/task/${holder.pid}/children`, 'utf8').trim()
  }

  /** A process of this machine, which is alive until it ends or the machine does. */
  spawn(program: string, args: readonly string[], env: readonly string[] = []): ChildProcess {
    const enter = ['-t', this.pid, '--mount', '--pid', '--net', 'setsid', '--wait', 'env', '-i']
    const own = [`PATH=${PATH}`, 'HOME=/mnt/home', 'LANG=C.UTF-8', ...env]
    return spawn('nsenter', [...enter, ...own, program, ...args], { stdio: 'pipe' })
  }

  /** Runs commands as a shell does that stops at the first that fails. */
  async run(commands: string, { as, answers = [] }: RunOptions = {}): Promise<Ran> {
    const text = `set -eu\ncd\n${commands}`
    const child =
      as === undefined ? this.spawn('bash', ['-c', text]) : this.spawn('runuser', ['-l', as, '-c', text])
    const said = { stdout: '', stderr: '' }
    const left = [...answers]
    for (const name of ['stdout', 'stderr'] as const)
      child[name]?.on('data', part => {
        said[name] += String(part)
        if (/: $/.test(String(part)) && left.length > 0) child.stdin?.write(`${left.shift()}\n`)
      })
    return await new Promise(resolve => child.once('close', code => resolve({ code, ...said })))
  }

  /** The same, by somebody whose shell stays open: where he is, and what he exported, is known to the next commands. */
  async type(commands: string, options: RunOptions = {}): Promise<Ran> {
    const keep = `{ export -p; printf 'cd %q\\n' "$PWD"; } >${SHELL}`
    return await this.run(`[ ! -e ${SHELL} ] || . ${SHELL}\n${commands}\n${keep}`, options)
  }

  /** Closes the shell that is open. */
  async leave(): Promise<void> {
    await this.must(`rm -f /mnt/shell-*`)
  }

  /** Runs what has to go well, and tells what it printed. */
  async must(commands: string, options: RunOptions = {}): Promise<string> {
    const { code, stdout, stderr } = await this.run(commands, options)
    if (code !== 0) throw new Error(`ended with ${code}: ${commands}\n${stdout}${stderr}`)
    return stdout
  }

  /** Puts a file there. */
  async write(path: string, text: string, how = '-m 0644'): Promise<void> {
    const coded = Buffer.from(text).toString('base64')
    await this.must(`install -D ${how} /dev/null '${path}'\nbase64 -d >'${path}' <<<${coded}`)
  }

  /** Puts more behind what is in a file. */
  async append(path: string, text: string): Promise<void> {
    await this.must(`cat >>'${path}' <<'END'\n${text}END`)
  }

  /** Its power goes: whatever ran there has ended, and its files are gone. */
  async stop(): Promise<void> {
    if (this.#holder.exitCode !== null || this.#holder.signalCode !== null) return
    const ended = new Promise(resolve => this.#holder.once('exit', resolve))
    this.#holder.kill('SIGKILL')
    await ended
  }
}
