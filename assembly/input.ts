/** AssemblyScript: the memory into which the caller writes a part of a text. */

export const inputSize: usize = 65536;
export const input = memory.data(65632); // with the bytes that may be read beyond its end
