/** A connection to one Modbus TCP address. It is made when it is needed, and one question is under way at a time. */
import modbus from 'modbus-serial'
import { Unavailable } from '../link/link.mjs'

const { default: ModbusRTU = modbus } = modbus
const DEVICE_IDENTITY = 1
const ids = { vendor: 0, model: 1 }
const TEXT_MAX = 100

/** Something was sent, and no answer came. */
export class Silent extends Unavailable {}

export class Bus {
  #given
  #client
  #turn = Promise.resolve()
  #isOver = false
  /** Grows with each connection. */
  connection = 0

  constructor(given) {
    this.#given = given
  }

  /** Does it once all before it is done. An exception of the device is told as it is; anything else means that it is away. */
  run(unit, work) {
    const done = this.#turn.then(() => this.#run(unit, work))
    this.#turn = done.catch(() => undefined)
    return done
  }

  /** What the device says it is (function 43), where it says anything. */
  async identity(unit) {
    try {
      const { data } = await this.run(unit, client => client.readDeviceIdentification(DEVICE_IDENTITY, 0))
      const said = Object.entries(ids).map(([member, id]) => [member, printable(data[id])])
      return Object.fromEntries(said.filter(([, text]) => text !== ''))
    } catch {
      return {}
    }
  }

  close() {
    this.#isOver = true
    this.#client?.close(() => {})
  }

  async #run(unit, work) {
    const client = await this.#connected()
    client.setID(unit)
    try {
      return await work(client)
    } catch (error) {
      if (error.modbusCode !== undefined) throw error
      this.#drop(client)
      const isSilent = error.name === 'TransactionTimedOutError'
      throw new Silent(isSilent ? `no answer within ${this.#given.timeoutMs / 1000} s` : error.message)
    }
  }

  async #connected() {
    if (this.#isOver) throw new Unavailable('the settings changed')
    if (this.#client?.isOpen) return this.#client
    const { host, port, timeoutMs } = this.#given
    const client = new ModbusRTU()
    client.setTimeout(timeoutMs)
    client.on('error', () => {})
    try {
      await client.connectTCP(host, { port, timeout: timeoutMs })
    } catch (error) {
      this.#drop(client)
      throw new Unavailable(`${host}:${port} can't be reached: ${error.message}`)
    }
    this.connection += 1
    this.#client = client
    return client
  }

  /** After silence nobody knows which question an answer belongs to, so a new connection is made. */
  #drop(client) {
    client.destroy?.(() => {})
    if (this.#client === client) this.#client = undefined
  }
}

const printable = (text = '') =>
  text
    .replace(/[^\x20-\x7e]/g, '')
    .trim()
    .slice(0, TEXT_MAX)
