/**
 * Two machines as far as a network is concerned: a network namespace for each hub and its node, and a switch between them
 * in a third. A cable that is pulled there loses packets without a word, and so does one direction of it.
 */
import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { chmodSync, writeFileSync } from 'node:fs'
import { setTimeout as pause } from 'node:timers/promises'

export const addresses = ['10.9.0.1', '10.9.0.2'] as const
const NOWHERE = '02:00:00:00:00:99'
const START_MS = 5000
const LOOK_MS = 20

/** Whether this machine lets its users have networks of their own. */
export const hasNetworks =
  spawnSync('unshare', ['--user', '--map-root-user', '--net', 'ip', 'link']).status === 0

export class SeparateNetworks implements Disposable {
  readonly #holders: ChildProcess[] = []
  #machines: [number, number] = [0, 0]
  #switch = 0

  static async make(): Promise<SeparateNetworks> {
    const networks = new SeparateNetworks()
    await networks.#make()
    return networks
  }

  async #make(): Promise<void> {
    const first = await this.#hold('unshare', ['--user', '--map-root-user', '--net'])
    const join = ['-t', String(first), '--user', '--preserve-credentials', 'unshare', '--net']
    this.#machines = [first, await this.#hold('nsenter', join)]
    this.#switch = await this.#hold('nsenter', join)
    this.#inSwitch('ip link add br0 type bridge')
    this.#inSwitch('ip link set br0 up')
    for (const at of [0, 1] as const) {
      this.#inMachine(at, `ip link add eth0 type veth peer name port${at} netns ${this.#switch}`)
      this.#inMachine(at, `ip addr add ${addresses[at]}/24 dev eth0`)
      for (const link of ['lo', 'eth0']) this.#inMachine(at, `ip link set ${link} up`)
      this.#inSwitch(`ip link set port${at} master br0`)
      this.#inSwitch(`ip link set port${at} up`)
    }
  }

  /** A process that keeps a namespace, once it is in it. */
  async #hold(program: string, args: string[]): Promise<number> {
    const child = spawn(program, [...args, 'sh', '-c', 'echo ready; exec sleep 3600'], {
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    this.#holders.push(child)
    let isReady = false
    child.stdout?.once('data', () => {
      isReady = true
    })
    for (let waited = 0; !isReady; waited += LOOK_MS) {
      if (waited > START_MS || child.exitCode !== null) throw new Error(`${program} made no network`)
      await pause(LOOK_MS)
    }
    return child.pid ?? 0
  }

  #enter(pid: number): string[] {
    return ['-t', String(pid), '--user', '--net', '--preserve-credentials']
  }

  #run(pid: number, command: string): string {
    const ran = spawnSync('nsenter', [...this.#enter(pid), ...command.split(' ')], { encoding: 'utf8' })
    if (ran.status !== 0) throw new Error(`${command}: ${ran.stderr}`)
    return ran.stdout
  }

  #inSwitch(command: string): void {
    this.#run(this.#switch, command)
  }

  #inMachine(at: 0 | 1, command: string): string {
    return this.#run(this.#machines[at], command)
  }

  /** A Node program that runs on one of the machines, written to this path. */
  nodeOf(at: 0 | 1, path: string): string {
    const enter = this.#enter(this.#machines[at]).join(' ')
    writeFileSync(path, `#!/bin/sh\nexec nsenter ${enter} "${process.execPath}" "$@"\n`)
    chmodSync(path, 0o700)
    return path
  }

  /** Nothing comes through any more, in either direction, and nobody is told. */
  cut(): void {
    this.#inSwitch('ip link set port1 nomaster')
  }

  /** What the second machine sends is lost; what it is sent still arrives. */
  cutAnswers(): void {
    this.#inMachine(1, `ip neigh replace ${addresses[0]} lladdr ${NOWHERE} dev eth0 nud permanent`)
  }

  heal(): void {
    this.#inSwitch('ip link set port1 master br0')
    this.#inMachine(1, `ip neigh replace ${addresses[0]} lladdr ${this.#macOfFirst()} dev eth0 nud reachable`)
  }

  #macOfFirst(): string {
    return (JSON.parse(this.#inMachine(0, 'ip -j link show eth0')) as { address: string }[])[0]?.address ?? ''
  }

  [Symbol.dispose](): void {
    for (const holder of this.#holders) holder.kill('SIGKILL')
  }
}
