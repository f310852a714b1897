/** While somebody copies the store, blobs whose rows go meanwhile stay. */
export class HeldBack {
  readonly #remove: (names: string[]) => Promise<void>
  #holders = 0
  #names: string[] = []

  constructor(remove: (names: string[]) => Promise<void>) {
    this.#remove = remove
  }

  async remove(names: string[]): Promise<void> {
    if (this.#holders > 0) this.#names.push(...names)
    else await this.#remove(names)
  }

  hold(): () => Promise<void> {
    this.#holders += 1
    return async () => {
      this.#holders -= 1
      if (this.#holders === 0) await this.#remove(this.#names.splice(0))
    }
  }
}
